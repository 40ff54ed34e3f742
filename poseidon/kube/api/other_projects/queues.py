"""Defines objects for queues and quotas of Kueue, Volcano, KAI, Koordinator and scheduler-plugins."""

from __future__ import annotations

from typing import Any

from msgspec import field

from poseidon.kube.api.metadata import (
    Condition,
    GenerationMeta,
    Integer,
    KubeStruct,
    Number,
    ObjectMeta,
    Resources,
)
from poseidon.kube.api.nodes import Taint
from poseidon.kube.api.pod_rules import LabelSelector, Toleration

# --- Kueue -----------------------------------------------------------------------------------------------------


class ResourceAmounts(KubeStruct, frozen=True):
    """A flavor's quota of a resource; None: no limit."""

    name: str = ""
    nominal_quota: Number = 0
    borrowing_limit: Number | None = None
    lending_limit: Number | None = None


class FlavorQuotas(KubeStruct, frozen=True):
    """The quotas of a flavor, by resource."""

    name: str = ""
    resources: tuple[ResourceAmounts, ...] = ()


class ResourceGroup(KubeStruct, frozen=True):
    """Resources that a pod gets from one flavor, and the flavors in order of preference."""

    covered_resources: tuple[str, ...] = ()
    flavors: tuple[FlavorQuotas, ...] = ()


class FairSharing(KubeStruct, frozen=True):
    """The weight of a queue or cohort among those with the same parent; None means 1."""

    weight: Number | None = None


class BorrowWithinCohort(KubeStruct, frozen=True):
    """Whether pods that need borrowed quota may evict other pods."""

    policy: str = ""
    max_priority_threshold: Integer | None = None


class QueuePreemption(KubeStruct, frozen=True):
    """The pods that the pods of the queue may evict."""

    within_cluster_queue: str = ""
    reclaim_within_cohort: str = ""
    borrow_within_cohort: BorrowWithinCohort | None = None


class FlavorFungibility(KubeStruct, frozen=True):
    """When the next flavor is tried instead of borrowing or preempting."""

    when_can_borrow: str = ""
    when_can_preempt: str = ""
    preference: str = ""


class ClusterQueueSpec(KubeStruct, frozen=True):
    """Spec of a ClusterQueue; ``cohort`` until v1beta1, ``cohort_name`` from v1beta2 on."""

    resource_groups: tuple[ResourceGroup, ...] = ()
    cohort: str = ""
    cohort_name: str = ""
    queueing_strategy: str = ""
    namespace_selector: LabelSelector | None = None
    flavor_fungibility: FlavorFungibility | None = None
    preemption: QueuePreemption | None = None
    admission_checks: tuple[str, ...] = ()
    admission_checks_strategy: Any = None
    stop_policy: str = ""
    fair_sharing: FairSharing | None = None
    admission_scope: Any = None


class QueueStatus(KubeStruct, frozen=True):
    """Status of a queue of Kueue, as last written. ``flavors_reservation`` and ``flavors_usage`` are not decoded."""

    conditions: tuple[Condition, ...] = ()
    pending_workloads: Integer = 0
    reserving_workloads: Integer = 0
    admitted_workloads: Integer = 0
    flavors_reservation: Any = None
    flavors_usage: Any = None


class ClusterQueue(KubeStruct, frozen=True):
    """kueue.x-k8s.io ClusterQueue."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: QueueStatus = QueueStatus()


class LocalQueueSpec(KubeStruct, frozen=True):
    """Spec of a LocalQueue."""

    cluster_queue: str = ""
    stop_policy: str = ""


class LocalQueue(KubeStruct, frozen=True):
    """kueue.x-k8s.io LocalQueue: pods of its namespace name it, and use the quota of its ClusterQueue."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LocalQueueSpec = LocalQueueSpec()
    status: QueueStatus = QueueStatus()


class CohortSpec(KubeStruct, frozen=True):
    """Spec of a Cohort; ``parent`` until v1alpha1, ``parent_name`` from v1beta1 on."""

    parent: str = ""
    parent_name: str = ""
    resource_groups: tuple[ResourceGroup, ...] = ()
    fair_sharing: FairSharing | None = None


class Cohort(KubeStruct, frozen=True):
    """kueue.x-k8s.io Cohort. A cohort without an object has no quota of its own."""

    metadata: ObjectMeta = ObjectMeta()
    spec: CohortSpec = CohortSpec()


class ResourceFlavorSpec(KubeStruct, frozen=True):
    """Spec of a ResourceFlavor: the nodes that it covers."""

    node_labels: dict[str, str] = field(default_factory=dict)
    node_taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology_name: str = ""


class ResourceFlavor(KubeStruct, frozen=True):
    """kueue.x-k8s.io ResourceFlavor: a kind of nodes, for which queues have quotas of their own."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class WorkloadPriorityClass(KubeStruct, frozen=True):
    """kueue.x-k8s.io WorkloadPriorityClass: the priority of workloads in queues, apart from their pods' priority."""

    metadata: ObjectMeta = ObjectMeta()
    value: Integer = 0


class QueuedOwner(KubeStruct, frozen=True):
    """An object that owns pods and may be suspended: the fields that determine its pods."""

    metadata: GenerationMeta = GenerationMeta()
    spec: Any = None
    status: Any = None


# --- Volcano, KAI ----------------------------------------------------------------------------------------------


class VolcanoGuarantee(KubeStruct, frozen=True):
    """Resources that are reserved for a queue."""

    resource: Resources = field(default_factory=dict)


class VolcanoQueueSpec(KubeStruct, frozen=True):
    """Spec of a queue of Volcano."""

    weight: Integer = 1
    capability: Resources = field(default_factory=dict)
    deserved: Resources = field(default_factory=dict)
    guarantee: VolcanoGuarantee = VolcanoGuarantee()
    reclaimable: bool | None = None
    parent: str = ""
    priority: Integer = 0
    dequeue_strategy: str = ""


class VolcanoQueueStatus(KubeStruct, frozen=True):
    """Status of a queue of Volcano."""

    state: str = ""


class VolcanoQueue(KubeStruct, frozen=True):
    """scheduling.volcano.sh/v1beta1 Queue."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolcanoQueueSpec = VolcanoQueueSpec()
    status: VolcanoQueueStatus = VolcanoQueueStatus()


class KaiResource(KubeStruct, frozen=True):
    """The amounts of a resource that a queue of KAI may use; -1 means without limit."""

    quota: float = 0.0
    over_quota_weight: float | None = None
    limit: float = -1.0


class KaiResources(KubeStruct, frozen=True):
    """Quotas: ``cpu`` in thousandths of a core, ``gpu`` in devices, ``memory`` in megabytes."""

    cpu: KaiResource = KaiResource()
    gpu: KaiResource = KaiResource()
    memory: KaiResource = KaiResource()


class KaiQueueSpec(KubeStruct, frozen=True):
    """Spec of a queue of KAI; without ``resources`` it has no quota of its own."""

    parent_queue: str = ""
    priority: Integer | None = None
    resources: KaiResources | None = None
    preempt_min_runtime: Any = None
    reclaim_min_runtime: Any = None


class KaiQueue(KubeStruct, frozen=True):
    """scheduling.run.ai/v2 Queue."""

    metadata: ObjectMeta = ObjectMeta()
    spec: KaiQueueSpec = KaiQueueSpec()


# --- ElasticQuota ----------------------------------------------------------------------------------------------


class ElasticQuotaSpec(KubeStruct, frozen=True):
    """Spec of an ElasticQuota: the guaranteed amounts, and the upper limit (None: no limit)."""

    min: Resources = field(default_factory=dict)
    max: Resources | None = None


class ElasticQuotaStatus(KubeStruct, frozen=True):
    """Status of an ElasticQuota, as last written."""

    used: Resources = field(default_factory=dict)


class ElasticQuota(KubeStruct, frozen=True):
    """scheduling.x-k8s.io/v1alpha1 ElasticQuota of scheduler-plugins: the quota of its namespace."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ElasticQuotaSpec = ElasticQuotaSpec()
    status: ElasticQuotaStatus = ElasticQuotaStatus()


class KoordinatorQuota(KubeStruct, frozen=True):
    """scheduling.sigs.k8s.io/v1alpha1 ElasticQuota of Koordinator, with its place in a tree in its labels."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ElasticQuotaSpec = ElasticQuotaSpec()
    status: ElasticQuotaStatus = ElasticQuotaStatus()
