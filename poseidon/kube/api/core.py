"""The scheduling-relevant fields of core Kubernetes objects, as msgspec structs.

Unknown fields are skipped while decoding, absent ones take Kubernetes' own defaults. Attributes are in
snake_case, wire names in camelCase. Lists become tuples, so that an empty one costs nothing. `decoding` says
how nulls and malformed objects are treated.
"""

from __future__ import annotations

from poseidon.kube.api.metadata import (
    Condition,
    Integer,
    KubeStruct,
    ListMeta,
    Number,
    ObjectMeta,
    OwnerReference,
    Resources,
    Status,
)
from poseidon.kube.api.nodes import (
    Namespace,
    Node,
    NodeSpec,
    NodeStatus,
    PriorityClass,
    Service,
    Taint,
)
from poseidon.kube.api.pod_rules import (
    Affinity,
    LabelSelector,
    LabelSelectorRequirement,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    Toleration,
    TopologySpreadConstraint,
)
from poseidon.kube.api.pods import (
    ClaimSource,
    Container,
    ContainerPort,
    ContainerState,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
    PodVolume,
    ResourceRequirements,
    Running,
    SchedulingGate,
    SchedulingGroup,
    Terminated,
    WorkloadReference,
)

__all__ = [
    "Affinity",
    "ClaimSource",
    "Condition",
    "Container",
    "ContainerPort",
    "ContainerState",
    "ContainerStatus",
    "Integer",
    "KubeStruct",
    "LabelSelector",
    "LabelSelectorRequirement",
    "ListMeta",
    "Namespace",
    "Node",
    "NodeAffinity",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "NodeSpec",
    "NodeStatus",
    "Number",
    "ObjectMeta",
    "OwnerReference",
    "Pod",
    "PodAffinity",
    "PodAffinityTerm",
    "PodSpec",
    "PodStatus",
    "PodVolume",
    "PriorityClass",
    "ResourceRequirements",
    "Resources",
    "Running",
    "SchedulingGate",
    "SchedulingGroup",
    "Service",
    "Status",
    "Taint",
    "Terminated",
    "Toleration",
    "TopologySpreadConstraint",
    "WorkloadReference",
]
