"""The kinds that say where a pod's volumes can be reached, as far as a scheduler looks at them."""

from __future__ import annotations

from msgspec import field

from poseidon.kube.api.metadata import Integer, KubeStruct, ObjectMeta, Resources
from poseidon.kube.api.pod_rules import LabelSelector, NodeSelector
from poseidon.kube.api.pods import PersistentVolumeClaimSpec

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""Annotation of a claim: the volume controller has finished binding it."""

BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""Annotation: the binding was made by a machine, and may be undone when the other side goes away."""

SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""Annotation of a claim: the node that a scheduler has chosen, for which a volume is to be provisioned."""

LEGACY_CLASS = "volume.beta.kubernetes.io/storage-class"
"""Annotation that names the storage class; it outranks the field, as in Kubernetes."""

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
"""Annotation of the storage class that claims get which name none."""

LEGACY_DEFAULT_CLASS = "storageclass.beta.kubernetes.io/is-default-class"
"""The same as it was written before Kubernetes 1.6, and is still heeded."""

NO_PROVISIONER = "kubernetes.io/no-provisioner"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD = "ReadWriteOncePod"


class ObjectReference(KubeStruct, frozen=True):
    """Names another object; ``uid`` tells it from a namesake and may be empty."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class CsiSource(KubeStruct, frozen=True):
    """A volume of a CSI driver; ``volume_handle`` is the driver's name for it."""

    driver: str = ""
    volume_handle: str = ""


class InTreeSource(KubeStruct, frozen=True):
    """A volume of a former built-in driver; only that it is one matters here."""


class VolumeNodeAffinity(KubeStruct, frozen=True):
    """The nodes from which a volume can be reached."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(KubeStruct, frozen=True):
    """What a volume offers, to whom it is given, and where it can be reached."""

    capacity: Resources = field(default_factory=dict)
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_attributes_class_name: str = ""
    volume_mode: str = ""
    node_affinity: VolumeNodeAffinity | None = None
    csi: CsiSource | None = None
    aws_elastic_block_store: InTreeSource | None = None
    gce_persistent_disk: InTreeSource | None = None
    azure_disk: InTreeSource | None = None
    azure_file: InTreeSource | None = None
    cinder: InTreeSource | None = None
    vsphere_volume: InTreeSource | None = None
    portworx_volume: InTreeSource | None = None


class PersistentVolumeStatus(KubeStruct, frozen=True):
    """How far a volume has come: Pending, Available, Bound, Released or Failed."""

    phase: str = ""


class PersistentVolume(KubeStruct, frozen=True):
    """core/v1 PersistentVolume."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PersistentVolumeClaimStatus(KubeStruct, frozen=True):
    """How far a claim has come: Pending, Bound or Lost."""

    phase: str = ""


class PersistentVolumeClaim(KubeStruct, frozen=True):
    """core/v1 PersistentVolumeClaim."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class TopologySelectorRequirement(KubeStruct, frozen=True):
    """A label that must have one of some values."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(KubeStruct, frozen=True):
    """A conjunction of conditions; an empty one matches no node."""

    match_label_expressions: tuple[TopologySelectorRequirement, ...] = ()


class StorageClass(KubeStruct, frozen=True):
    """storage.k8s.io/v1 StorageClass."""

    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    volume_binding_mode: str = ""
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether a claim is bound only once a pod that uses it has been given a node."""
        return self.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


class VolumeNodeResources(KubeStruct, frozen=True):
    """How many volumes of a driver a node can hold; None means no limit."""

    count: Integer | None = None


class CsiNodeDriver(KubeStruct, frozen=True):
    """A CSI driver on a node."""

    name: str = ""
    allocatable: VolumeNodeResources | None = None


class CsiNodeSpec(KubeStruct, frozen=True):
    """The drivers that run on a node."""

    drivers: tuple[CsiNodeDriver, ...] = ()


class CsiDriverSpec(KubeStruct, frozen=True):
    """``storage_capacity``: the driver says in CSIStorageCapacity objects how much it can make, and where."""

    storage_capacity: bool | None = None


class CsiDriver(KubeStruct, frozen=True):
    """storage.k8s.io/v1 CSIDriver; it bears the name of the driver."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CsiDriverSpec = CsiDriverSpec()


class CsiStorageCapacity(KubeStruct, frozen=True):
    """storage.k8s.io/v1 CSIStorageCapacity: what volumes of a class can be made where the nodes of a part reach them.

    Without ``node_topology`` no node does.
    """

    metadata: ObjectMeta = ObjectMeta()
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None


class CsiNode(KubeStruct, frozen=True):
    """storage.k8s.io/v1 CSINode; it bears the name of its node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CsiNodeSpec = CsiNodeSpec()


class VolumeAttachmentSource(KubeStruct, frozen=True):
    """What is attached: a volume by its name, or one that a pod mounts without a claim."""

    persistent_volume_name: str = ""
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(KubeStruct, frozen=True):
    """``attacher``: the name of the CSI driver."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(KubeStruct, frozen=True):
    """storage.k8s.io/v1 VolumeAttachment: a volume is attached to a node, or about to be, or to be detached."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
