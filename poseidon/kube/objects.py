"""The scheduling-relevant fields of core Kubernetes objects, as msgspec structs.

Unknown fields are skipped while decoding, absent ones take Kubernetes' own defaults. Attributes are in
snake_case, wire names in camelCase. Lists become tuples, so that an empty one costs nothing. `decoding` says
how nulls and malformed objects are treated.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct, field

Number: TypeAlias = str | int | float
"""A quantity as written: API servers send strings, people write numbers too."""

Resources: TypeAlias = dict[str, Number]


class KubeStruct(Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Base of the structs here. They are trees, so nothing can leak through ``gc=False``."""


# --- metadata -----------------------------------------------------------------------------------------------


class OwnerReference(KubeStruct, frozen=True):
    """Who created an object; the one with ``controller`` set manages it."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(KubeStruct, frozen=True):
    """Metadata. Times are RFC 3339 text as sent; ``deletion_timestamp`` is set once deletion is asked for."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None

    def controller(self) -> OwnerReference | None:
        """Return the owner that manages the object, or None."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class ListMeta(KubeStruct, frozen=True):
    """Metadata of a list: its version, and the token of the next page ("" on the last)."""

    resource_version: str = ""
    continue_token: str = field(default="", name="continue")
    remaining_item_count: int | None = None


class StatusDetails(KubeStruct, frozen=True):
    """Details of a `Status`, as far as clients act on them."""

    name: str = ""
    kind: str = ""
    uid: str = ""
    retry_after_seconds: int = 0


class Status(KubeStruct, frozen=True):
    """What the API server answers instead of an object: an error, or the outcome of an action."""

    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails = StatusDetails()


class Condition(KubeStruct, frozen=True):
    """A condition of a node or pod; ``status`` is "True", "False" or "Unknown"."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


# --- nodes --------------------------------------------------------------------------------------------------


class Taint(KubeStruct, frozen=True):
    """core/v1 Taint."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(KubeStruct, frozen=True):
    """What an administrator asks of a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(KubeStruct, frozen=True):
    """An image that is on a node, with all names that it is known under there."""

    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeStatus(KubeStruct, frozen=True):
    """What the kubelet reports of a node. ``allocatable`` is None when it has not been reported at all."""

    capacity: Resources = {}
    allocatable: Resources | None = None
    conditions: tuple[Condition, ...] = ()
    images: tuple[ContainerImage, ...] = ()


class Node(KubeStruct, frozen=True):
    """core/v1 Node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


# --- pods ---------------------------------------------------------------------------------------------------


class ResourceRequirements(KubeStruct, frozen=True):
    """Requests and limits of a container or of a whole pod."""

    requests: Resources = {}
    limits: Resources = {}


class ContainerPort(KubeStruct, frozen=True):
    """A port of a container; ``host_port`` 0 means that it takes none of the node's. "" stands for TCP."""

    container_port: int = 0
    host_port: int = 0
    protocol: str = ""
    host_ip: str = field(default="", name="hostIP")


class Container(KubeStruct, frozen=True):
    """A container as a scheduler sees it. An init container with ``restart_policy`` "Always" is a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str = ""
    ports: tuple[ContainerPort, ...] = ()


class LabelSelectorRequirement(KubeStruct, frozen=True):
    """One condition on a label of an object."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(KubeStruct, frozen=True):
    """A conjunction of conditions; an empty one matches every object, an absent one (None) none."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class NodeSelectorRequirement(KubeStruct, frozen=True):
    """One condition on a label or field of a node."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(KubeStruct, frozen=True):
    """A conjunction of conditions; an empty term matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(KubeStruct, frozen=True):
    """A disjunction of terms."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(KubeStruct, frozen=True):
    """A term and what matching it is worth (1..100)."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(KubeStruct, frozen=True):
    """Rules about nodes that hold at scheduling time."""

    required: NodeSelector | None = field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[PreferredSchedulingTerm, ...] = field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(KubeStruct, frozen=True):
    """Pods by labels and namespaces, and the node label whose values are the domains.

    Without ``namespaces`` and ``namespace_selector`` (None) the namespace of the pod itself is meant.
    """

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(KubeStruct, frozen=True):
    """A term and what it is worth (1..100)."""

    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(KubeStruct, frozen=True):
    """Rules about other pods that hold at scheduling time: core/v1 PodAffinity and PodAntiAffinity."""

    required: tuple[PodAffinityTerm, ...] = field(
        default=(), name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[WeightedPodAffinityTerm, ...] = field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(KubeStruct, frozen=True):
    """A pod's affinity rules."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(KubeStruct, frozen=True):
    """How evenly pods are to be spread over the values of a node label. Policies left out are ""."""

    max_skew: int = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = ""
    node_taints_policy: str = ""
    match_label_keys: tuple[str, ...] = ()


class PodResourceClaim(KubeStruct, frozen=True):
    """A device claim of a pod (dynamic resource allocation), by its name within the pod."""

    name: str = ""


class Toleration(KubeStruct, frozen=True):
    """core/v1 Toleration; an empty ``operator`` means Equal."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class SchedulingGate(KubeStruct, frozen=True):
    """A named reason not to schedule a pod yet."""

    name: str = ""


class ClaimSource(KubeStruct, frozen=True):
    """A volume that a PersistentVolumeClaim provides."""

    claim_name: str = ""


class EphemeralSource(KubeStruct, frozen=True):
    """A volume whose claim is made for the pod and goes with it; it is named POD-VOLUME."""


class PodVolume(KubeStruct, frozen=True):
    """A volume of a pod, as far as a scheduler looks at it."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None


class WorkloadReference(KubeStruct, frozen=True):
    """The group of a Workload that a pod is in; each replica key makes a group of its own."""

    name: str = ""
    pod_group: str = ""
    pod_group_replica_key: str = ""


class SchedulingGroup(KubeStruct, frozen=True):
    """The scheduling.k8s.io PodGroup that a pod is in."""

    pod_group_name: str = ""


class PodSpec(KubeStruct, frozen=True):
    """What a pod asks of a scheduler. ``priority`` is None until admission has resolved the class's name."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: Resources = {}
    resources: ResourceRequirements = ResourceRequirements()
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    host_network: bool = False
    volumes: tuple[PodVolume, ...] = ()
    workload_ref: WorkloadReference | None = None
    scheduling_group: SchedulingGroup | None = None


class Terminated(KubeStruct, frozen=True):
    """How a container ended. Times are RFC 3339 text as sent."""

    started_at: str | None = None
    finished_at: str | None = None


class Running(KubeStruct, frozen=True):
    """Since when a container has been running."""

    started_at: str | None = None


class ContainerState(KubeStruct, frozen=True):
    """What a container does at present; neither while it waits to be started."""

    terminated: Terminated | None = None
    running: Running | None = None


class ContainerStatus(KubeStruct, frozen=True):
    """How far a container has come."""

    name: str = ""
    state: ContainerState = ContainerState()
    restart_count: int = 0


class PodStatus(KubeStruct, frozen=True):
    """How far a pod has come, and why it failed if it did. ``container_statuses`` are of regular containers."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    nominated_node_name: str = ""


class Pod(KubeStruct, frozen=True):
    """core/v1 Pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def terminal(self) -> bool:
        """Whether it has ended, and with that given back what it used."""
        return self.status.phase in ("Succeeded", "Failed")

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of a type such as "PodScheduled", or None."""
        for condition in self.status.conditions:
            if condition.type == kind:
                return condition
        return None


# --- cluster-wide policies ----------------------------------------------------------------------------------


class PriorityClass(KubeStruct, frozen=True):
    """scheduling.k8s.io/v1 PriorityClass; at most one of a cluster is the ``global_default``."""

    metadata: ObjectMeta = ObjectMeta()
    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""


class Namespace(KubeStruct, frozen=True):
    """core/v1 Namespace."""

    metadata: ObjectMeta = ObjectMeta()
