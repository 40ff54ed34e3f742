"""Defines kinds that say from which nodes a volume can be reached, with the fields that a scheduler reads."""

from __future__ import annotations

from msgspec import field

from poseidon.kube.api.metadata import Integer, KubeStruct, ObjectMeta, Resources
from poseidon.kube.api.pod_rules import LabelSelector, NodeSelector
from poseidon.kube.api.pods import PersistentVolumeClaimSpec

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""Annotation of a claim: the volume controller has finished binding it."""

BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
"""Annotation of a claim or volume: a controller made the binding, and may undo it if the other object is deleted."""

SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""Annotation of a claim: the node that a scheduler has chosen, for which a volume is to be provisioned."""

LEGACY_CLASS = "volume.beta.kubernetes.io/storage-class"
"""Annotation that names the storage class; the annotation overrides the field, as in Kubernetes."""

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
"""Annotation of the storage class that claims without a class get."""

LEGACY_DEFAULT_CLASS = "storageclass.beta.kubernetes.io/is-default-class"
"""The annotation for the default storage class before Kubernetes 1.6, which is still honoured."""

NO_PROVISIONER = "kubernetes.io/no-provisioner"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD = "ReadWriteOncePod"


class ObjectReference(KubeStruct, frozen=True):
    """A reference to an object; ``uid``, if given, distinguishes it from other objects of the same name."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class CsiSource(KubeStruct, frozen=True):
    """A volume of a CSI driver; ``volume_handle`` is the driver's name for it."""

    driver: str = ""
    volume_handle: str = ""


class InTreeSource(KubeStruct, frozen=True):
    """A volume of a former built-in driver; its fields are not read."""


class VolumeNodeAffinity(KubeStruct, frozen=True):
    """The nodes from which a volume can be reached."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(KubeStruct, frozen=True):
    """Spec of a volume: its capacity, its claim, and the nodes from which it can be reached."""

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
    """Status of a volume; its phase is Pending, Available, Bound, Released or Failed."""

    phase: str = ""


class PersistentVolume(KubeStruct, frozen=True):
    """core/v1 PersistentVolume."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PersistentVolumeClaimStatus(KubeStruct, frozen=True):
    """Status of a claim; its phase is Pending, Bound or Lost."""

    phase: str = ""


class PersistentVolumeClaim(KubeStruct, frozen=True):
    """core/v1 PersistentVolumeClaim."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class TopologySelectorRequirement(KubeStruct, frozen=True):
    """A condition that a node's label has one of these values."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(KubeStruct, frozen=True):
    """Conditions on a node that must all hold; an empty term matches no node."""

    match_label_expressions: tuple[TopologySelectorRequirement, ...] = ()


class StorageClass(KubeStruct, frozen=True):
    """storage.k8s.io/v1 StorageClass."""

    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    volume_binding_mode: str = ""
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()

    @property
    def waits(self) -> bool:
        """Whether a claim is bound only after a pod that uses it has got a node."""
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
    """Spec of a CSI driver. ``storage_capacity``: the driver publishes CSIStorageCapacity objects."""

    storage_capacity: bool | None = None


class CsiDriver(KubeStruct, frozen=True):
    """storage.k8s.io/v1 CSIDriver; it has the name of the driver."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CsiDriverSpec = CsiDriverSpec()


class CsiStorageCapacity(KubeStruct, frozen=True):
    """storage.k8s.io/v1 CSIStorageCapacity: how large volumes of a class can be created for some nodes.

    Without ``node_topology``, the capacity applies to no node.
    """

    metadata: ObjectMeta = ObjectMeta()
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None


class CsiNode(KubeStruct, frozen=True):
    """storage.k8s.io/v1 CSINode; it has the name of its node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CsiNodeSpec = CsiNodeSpec()


class VolumeAttachmentSource(KubeStruct, frozen=True):
    """The attached volume, given by its name, or by its spec if a pod mounts it without a claim."""

    persistent_volume_name: str = ""
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(KubeStruct, frozen=True):
    """Spec of an attachment. ``attacher`` is the name of the CSI driver."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachment(KubeStruct, frozen=True):
    """storage.k8s.io/v1 VolumeAttachment: a volume that is, or is being, attached to a node or detached from it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
