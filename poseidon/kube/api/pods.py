"""Defines core/v1 Pod and its containers, with the fields that a scheduler reads."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import field

from poseidon.kube.api.metadata import Condition, Integer, KubeStruct, ObjectMeta, Resources
from poseidon.kube.api.pod_rules import Affinity, LabelSelector, Toleration, TopologySpreadConstraint


class ResourceRequirements(KubeStruct, frozen=True):
    """Requests and limits of a container or of a whole pod."""

    requests: Resources = field(default_factory=dict)
    limits: Resources = field(default_factory=dict)


class ContainerPort(KubeStruct, frozen=True):
    """A port of a container. ``host_port`` 0: the container uses no port of the node. Protocol "" means TCP."""

    container_port: Integer = 0
    host_port: Integer = 0
    protocol: str = ""
    host_ip: str = field(default="", name="hostIP")


class RestartRule(KubeStruct, frozen=True):
    """The action after a container has ended in a certain way."""

    action: str = ""


class Container(KubeStruct, frozen=True):
    """A container. An init container with ``restart_policy`` "Always" is a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str = ""
    restart_policy_rules: tuple[RestartRule, ...] = ()
    ports: tuple[ContainerPort, ...] = ()


class Terminated(KubeStruct, frozen=True):
    """How a container ended. Times are RFC 3339 text as sent."""

    started_at: str | None = None
    finished_at: str | None = None


class Running(KubeStruct, frozen=True):
    """The time since when a container has been running."""

    started_at: str | None = None


class ContainerState(KubeStruct, frozen=True):
    """A container's present state; neither field is set while it waits to start."""

    terminated: Terminated | None = None
    running: Running | None = None


class ContainerStatus(KubeStruct, frozen=True):
    """The status of a container.

    ``resources`` are those that it runs with, None if the kubelet does not report them; ``allocated_resources`` are the
    requests that its kubelet has granted.
    """

    name: str = ""
    state: ContainerState = ContainerState()
    restart_count: Integer = 0
    resources: ResourceRequirements | None = None
    allocated_resources: Resources = field(default_factory=dict)


class PodResourceClaim(KubeStruct, frozen=True):
    """A device claim of a pod (dynamic resource allocation), by its name within the pod.

    It names a claim, or a template from which a claim is made for the pod.
    """

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class ExtendedClaimStatus(KubeStruct, frozen=True):
    """The claim that was made for a pod's extended resources."""

    resource_claim_name: str = ""


class PodClaimStatus(KubeStruct, frozen=True):
    """A claim of a pod, and the ResourceClaim that was made for it; ``resource_claim_name`` None: none is needed."""

    name: str = ""
    resource_claim_name: str | None = None


class SchedulingGate(KubeStruct, frozen=True):
    """A named reason not to schedule a pod yet."""

    name: str = ""


class ClaimSource(KubeStruct, frozen=True):
    """A volume from a PersistentVolumeClaim."""

    claim_name: str = ""


class PersistentVolumeClaimSpec(KubeStruct, frozen=True):
    """Spec of a claim. ``storage_class_name`` is None until the default class has been filled in."""

    access_modes: tuple[str, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    selector: LabelSelector | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str = ""
    volume_mode: str = ""
    volume_name: str = ""


class ClaimTemplate(KubeStruct, frozen=True):
    """The claim that is created for a pod with an ephemeral volume."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralSource(KubeStruct, frozen=True):
    """A volume whose claim is created for the pod and deleted with it; the claim is named POD-VOLUME."""

    volume_claim_template: ClaimTemplate = ClaimTemplate()


class EmptyDir(KubeStruct, frozen=True):
    """A folder that exists as long as the pod; with ``medium`` "Memory" it uses no disk."""

    medium: str = ""


class HostPath(KubeStruct, frozen=True):
    """A folder or file of the node itself."""


class GceDisk(KubeStruct, frozen=True):
    """A disk of Google's, mounted without a claim."""

    pd_name: str = ""
    read_only: bool = False


class AwsDisk(KubeStruct, frozen=True):
    """A disk of Amazon's, mounted without a claim."""

    volume_id: str = field(default="", name="volumeID")


class AzureDisk(KubeStruct, frozen=True):
    """A disk of Azure's, mounted without a claim."""

    disk_uri: str = field(default="", name="diskURI")


class CinderDisk(KubeStruct, frozen=True):
    """A disk of OpenStack's, mounted without a claim."""

    volume_id: str = field(default="", name="volumeID")


class VsphereDisk(KubeStruct, frozen=True):
    """A disk of vSphere's, mounted without a claim."""

    volume_path: str = ""


class PortworxDisk(KubeStruct, frozen=True):
    """A disk of Portworx', mounted without a claim."""

    volume_id: str = field(default="", name="volumeID")


class IscsiDisk(KubeStruct, frozen=True):
    """An iSCSI disk, mounted without a claim; ``iqn`` names it."""

    iqn: str = ""
    read_only: bool = False


class RbdImage(KubeStruct, frozen=True):
    """A Ceph image, mounted without a claim; each of its ``monitors`` gives access to the same image."""

    monitors: tuple[str, ...] = ()
    pool: str = "rbd"
    image: str = ""
    read_only: bool = False


class PodVolume(KubeStruct, frozen=True):
    """A volume of a pod, with the fields that a scheduler reads."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None
    empty_dir: EmptyDir | None = None
    host_path: HostPath | None = None
    gce_persistent_disk: GceDisk | None = None
    aws_elastic_block_store: AwsDisk | None = None
    iscsi: IscsiDisk | None = None
    rbd: RbdImage | None = None
    azure_disk: AzureDisk | None = None
    cinder: CinderDisk | None = None
    vsphere_volume: VsphereDisk | None = None
    portworx_volume: PortworxDisk | None = None


class WorkloadReference(KubeStruct, frozen=True):
    """The group of a Workload that a pod belongs to; each replica key forms its own group."""

    name: str = ""
    pod_group: str = ""
    pod_group_replica_key: str = ""


class SchedulingGroup(KubeStruct, frozen=True):
    """The scheduling.k8s.io PodGroup that a pod belongs to."""

    pod_group_name: str = ""


class PodSpec(KubeStruct, frozen=True):
    """Spec of a pod. ``priority`` is None until admission has resolved ``priority_class_name``."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: Integer | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    restart_policy: str = ""
    active_deadline_seconds: int | None = None
    termination_grace_period_seconds: int | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    runtime_class_name: str = ""
    overhead: Resources = field(default_factory=dict)
    resources: ResourceRequirements = ResourceRequirements()
    node_selector: dict[str, str] = field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    host_network: bool = False
    host_users: bool | None = None
    volumes: tuple[PodVolume, ...] = ()
    workload_ref: WorkloadReference | None = None
    scheduling_group: SchedulingGroup | None = None


class PodStatus(KubeStruct, frozen=True):
    """Status of a pod. ``container_statuses`` are those of regular containers.

    ``resources`` and ``allocated_resources`` are those of the whole pod, with the same meanings as for a container.
    """

    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    nominated_node_name: str = ""
    start_time: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: Resources = field(default_factory=dict)
    resource_claim_statuses: tuple[PodClaimStatus, ...] = ()
    extended_resource_claim_status: ExtendedClaimStatus | None = None


class Pod(KubeStruct, frozen=True):
    """core/v1 Pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def terminal(self) -> bool:
        """Whether the pod has ended, and so uses no resources any more."""
        return self.status.phase in ("Succeeded", "Failed")

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of a type such as "PodScheduled", or None."""
        for condition in self.status.conditions:
            if condition.type == kind:
                return condition
        return None


@dataclass(frozen=True, slots=True)
class PodClaim:
    """A claim of a pod, by ``namespace/name``; an ``ephemeral`` one must have been created for the pod.

    ``disk``: whether the entry is not a claim, but a disk that the pod mounts without one.
    """

    key: str
    ephemeral: bool = False
    disk: bool = False

    @property
    def name(self) -> str:
        """The claim's name."""
        return self.key.partition("/")[2]


DISK = "^"
"""Separates, in a key, the kind of a disk without a claim from the disk's name."""


def claims_of(pod: Pod) -> tuple[PodClaim, ...]:
    """Return the claims of a pod, each once, in the order of its volumes."""
    return tuple(each for each in attachable_of(pod) if not each.disk)


def attachable_of(pod: Pod) -> tuple[PodClaim, ...]:
    """Return a pod's claims, and its disks without a claim that a CSI driver attaches.

    Each volume appears once, in the order of the volumes. The claim of an ephemeral volume is named after pod and
    volume.
    """
    if not pod.spec.volumes:
        return ()
    metadata = pod.metadata
    namespace = metadata.namespace or "default"
    found: dict[str, PodClaim] = {}
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            claim = PodClaim(f"{namespace}/{volume.persistent_volume_claim.claim_name}")
        elif volume.ephemeral is not None:
            claim = PodClaim(f"{namespace}/{metadata.name}-{volume.name}", ephemeral=True)
        elif key := _disk_key(volume):
            claim = PodClaim(key, disk=True)
        else:
            continue
        found.setdefault(claim.key, claim)
    return tuple(found.values())


def _disk_key(volume: PodVolume) -> str:
    """Return the kind of a disk and the name that its driver uses, "" for other volumes.

    These are the names that Kubernetes' ``k8s.io/csi-translation-lib`` gives, and that VolumeAttachments contain: pods
    with the same disk share an attachment.
    """
    kind = name = ""
    if volume.gce_persistent_disk is not None:
        kind, name = "gce_persistent_disk", volume.gce_persistent_disk.pd_name
        name = name and f"projects/UNSPECIFIED/zones/UNSPECIFIED/disks/{name}"
    elif volume.aws_elastic_block_store is not None:  # may be written as aws://ZONE/VOLUME
        kind, name = "aws_elastic_block_store", volume.aws_elastic_block_store.volume_id.rpartition("/")[2]
    elif volume.azure_disk is not None:
        kind, name = "azure_disk", volume.azure_disk.disk_uri
    elif volume.cinder is not None:
        kind, name = "cinder", volume.cinder.volume_id
    elif volume.vsphere_volume is not None:
        kind, name = "vsphere_volume", volume.vsphere_volume.volume_path
    elif volume.portworx_volume is not None:
        kind, name = "portworx_volume", volume.portworx_volume.volume_id
    return f"{kind}{DISK}{name}" if name else ""
