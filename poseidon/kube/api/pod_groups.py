"""Defines objects that say which pods form a group, and how many pods may be disrupted."""

from __future__ import annotations

from typing import Any

from msgspec import field

from poseidon.kube.api.metadata import Condition, GenerationMeta, Integer, KubeStruct, Number, ObjectMeta
from poseidon.kube.api.pod_rules import LabelSelector
from poseidon.kube.api.pods import PodResourceClaim


class PodGroupSpec(KubeStruct, frozen=True):
    """Spec of a PodGroup.

    ``schedule_timeout_seconds`` None means the scheduler's default. ``min_resources`` are amounts by resource.
    """

    min_member: Integer = 0
    schedule_timeout_seconds: Integer | None = None
    min_resources: Any = None


class PodGroupStatus(KubeStruct, frozen=True):
    """Status of a PodGroup, from its controller; counts are of pods."""

    phase: str = ""
    occupied_by: str = ""
    scheduled: Integer = 0
    running: Integer = 0
    succeeded: Integer = 0
    failed: Integer = 0
    schedule_start_time: str | None = None


class PodGroup(KubeStruct, frozen=True):
    """scheduling.x-k8s.io/v1alpha1 PodGroup: pods with its name in a label are placed together."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class SigsPodGroup(KubeStruct, frozen=True):
    """scheduling.sigs.k8s.io/v1alpha1 PodGroup: used by scheduler-plugins before v0.24, and by Koordinator."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()


class VolcanoTopology(KubeStruct, frozen=True):
    """A rule that all pods must be in one HyperNode of at most this tier; mode ``soft`` only prefers low tiers."""

    mode: str = "hard"
    highest_tier_allowed: Integer | None = None
    highest_tier_name: str = ""


class VolcanoSubGroups(KubeStruct, frozen=True):
    """Groups within a PodGroup: selected pods with equal values of some labels form one group."""

    name: str = ""
    network_topology: VolcanoTopology | None = None
    sub_group_size: Integer = 1
    min_sub_groups: Integer = 0
    label_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()


class VolcanoPodGroupSpec(KubeStruct, frozen=True):
    """Spec of Volcano's PodGroup: how many pods are placed together, in all and per task, and further requirements."""

    min_member: Integer = 0
    min_task_member: dict[str, Integer] = field(default_factory=dict)
    min_resources: Any = None
    priority_class_name: str = ""
    queue: str = ""
    network_topology: VolcanoTopology | None = None
    sub_group_policy: tuple[VolcanoSubGroups, ...] = ()


class VolcanoPodGroup(KubeStruct, frozen=True):
    """scheduling.volcano.sh/v1beta1 PodGroup: pods have its name in an annotation."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolcanoPodGroupSpec = VolcanoPodGroupSpec()


class GangPolicy(KubeStruct, frozen=True):
    """A gang policy: at least this many pods are placed, or none."""

    min_count: Integer = 0


class GroupPolicy(KubeStruct, frozen=True):
    """How to place the pods of a group: together if ``gang`` is given, else one by one."""

    gang: GangPolicy | None = None


class WorkloadPodGroup(KubeStruct, frozen=True):
    """A named part of a Workload."""

    name: str = ""
    policy: GroupPolicy = GroupPolicy()


class WorkloadSpec(KubeStruct, frozen=True):
    """The parts of a Workload."""

    pod_groups: tuple[WorkloadPodGroup, ...] = ()


class Workload(KubeStruct, frozen=True):
    """scheduling.k8s.io/v1alpha1 Workload: pods refer to one of its groups by ``spec.workloadRef``."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()


class TopologyConstraint(KubeStruct, frozen=True):
    """A rule that all pods of a group must be on nodes with equal values of the label ``key``."""

    key: str = ""


class SchedulingConstraints(KubeStruct, frozen=True):
    """The domains in which the pods of a group may be placed."""

    topology: tuple[TopologyConstraint, ...] = ()


class TemplateReference(KubeStruct, frozen=True):
    """The Workload from which a group was made."""

    workload_name: str = ""


class NativePodGroupSpec(KubeStruct, frozen=True):
    """Spec of Kubernetes' own PodGroup.

    ``disruption_mode`` is a string until v1alpha2 and an object from v1alpha3 on. Admission sets ``priority`` and
    ``preemption_policy`` from ``priority_class_name``. ``workload_ref`` names the Workload from which the group was
    made.
    """

    scheduling_policy: GroupPolicy = GroupPolicy()
    scheduling_constraints: SchedulingConstraints = SchedulingConstraints()
    disruption_mode: Any = None
    priority: Integer | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    parent_composite_pod_group_name: str = ""
    workload_ref: TemplateReference | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()


class NativePodGroupStatus(KubeStruct, frozen=True):
    """Status that schedulers and controllers write."""

    conditions: tuple[Condition, ...] = ()


class NativePodGroup(KubeStruct, frozen=True):
    """scheduling.k8s.io PodGroup, from v1alpha2 on: pods refer to it by ``spec.schedulingGroup``."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NativePodGroupSpec = NativePodGroupSpec()
    status: NativePodGroupStatus = NativePodGroupStatus()


class CompositeGangPolicy(KubeStruct, frozen=True):
    """A gang policy: at least this many groups are placed, or none."""

    min_group_count: Integer = 0


class CompositePolicy(KubeStruct, frozen=True):
    """How to place the groups of a group: together if ``gang`` is given, else one by one."""

    gang: CompositeGangPolicy | None = None


class CompositePodGroupSpec(KubeStruct, frozen=True):
    """Spec of a CompositePodGroup. It has the fields of a PodGroup, but contains groups instead of pods."""

    parent_composite_pod_group_name: str = ""
    workload_ref: TemplateReference | None = None
    scheduling_policy: CompositePolicy = CompositePolicy()
    scheduling_constraints: SchedulingConstraints = SchedulingConstraints()
    disruption_mode: Any = None
    priority: Integer | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""


class CompositePodGroup(KubeStruct, frozen=True):
    """scheduling.k8s.io/v1alpha3 CompositePodGroup: groups refer to it by ``spec.parentCompositePodGroupName``."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CompositePodGroupSpec = CompositePodGroupSpec()
    status: NativePodGroupStatus = NativePodGroupStatus()


class DisruptionBudgetSpec(KubeStruct, frozen=True):
    """Spec of a disruption budget: its pods, and how many must stay or may be missing, as a number or in percent.

    ``unhealthy_pod_eviction_policy``: whether pods that are not ready may always be evicted ("AlwaysAllow").
    """

    selector: LabelSelector | None = None
    min_available: Number | None = None
    max_unavailable: Number | None = None
    unhealthy_pod_eviction_policy: str = ""


class DisruptionBudgetStatus(KubeStruct, frozen=True):
    """Status of a disruption budget: the controller's counts, for the spec of generation ``observed_generation``.

    ``disrupted_pods`` are names of evicted pods whose deletion the controller has not seen yet.
    ``disruptions_allowed`` already takes these pods into account.
    """

    disruptions_allowed: Integer = 0
    observed_generation: Integer = 0
    current_healthy: Integer = 0
    desired_healthy: Integer = 0
    disrupted_pods: dict[str, Any] = field(default_factory=dict)


class DisruptionBudget(KubeStruct, frozen=True):
    """policy/v1 PodDisruptionBudget; ``status`` is None until the controller has written it."""

    metadata: GenerationMeta = GenerationMeta()
    spec: DisruptionBudgetSpec = DisruptionBudgetSpec()
    status: DisruptionBudgetStatus | None = None


class TemplateOutline(KubeStruct, frozen=True):
    """A template of pods, reduced to its metadata."""

    metadata: ObjectMeta = ObjectMeta()


class ScaleSpec(KubeStruct, frozen=True):
    """The wanted number of pods: ``replicas``, or a Job's ``parallelism`` and ``completions``."""

    replicas: Integer | None = None
    parallelism: Integer | None = None
    completions: Integer | None = None
    template: TemplateOutline | None = None


class ScaleStatus(KubeStruct, frozen=True):
    """The number of a Job's pods that have succeeded."""

    succeeded: Integer = 0


class OwnedPods(KubeStruct, frozen=True):
    """The pods that an owner makes from one template: how many, and the template's annotations.

    ``role`` distinguishes these pods from the owner's other pods; ``some_ended``: ``count`` leaves out pods that have
    succeeded.
    """

    role: str = ""
    count: Integer = 0
    annotations: dict[str, str] = field(default_factory=dict)
    some_ended: bool = False


class ScaledOwner(KubeStruct, frozen=True):
    """A ReplicaSet, StatefulSet or Job, reduced to its wanted number of pods; or another owner, with ``pod_sets``."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ScaleSpec = ScaleSpec()
    status: ScaleStatus = ScaleStatus()
    pod_sets: tuple[OwnedPods, ...] = ()
