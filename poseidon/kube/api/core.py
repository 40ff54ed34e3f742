"""The scheduling-relevant fields of core Kubernetes objects, as msgspec structs.

Unknown fields are skipped while decoding, absent ones take Kubernetes' own defaults. Attributes are in
snake_case, wire names in camelCase. Lists become tuples, so that an empty one costs nothing. `decoding` says
how nulls and malformed objects are treated.
"""

from __future__ import annotations

from poseidon.kube.api.base import Integer, KubeStruct, Number, Resources
from poseidon.kube.api.containers import (
    Container,
    ContainerPort,
    ContainerState,
    ContainerStatus,
    ResourceRequirements,
    Running,
    Terminated,
)
from poseidon.kube.api.metadata import (
    Condition,
    ListMeta,
    ObjectMeta,
    OwnerReference,
    Status,
    StatusDetails,
)
from poseidon.kube.api.nodes import ContainerImage, Node, NodeSpec, NodeStatus, Taint
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
    PreferredSchedulingTerm,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from poseidon.kube.api.pods import (
    ClaimSource,
    EphemeralSource,
    Pod,
    PodResourceClaim,
    PodSpec,
    PodStatus,
    PodVolume,
    SchedulingGate,
    SchedulingGroup,
    WorkloadReference,
)
from poseidon.kube.api.policies import Namespace, PriorityClass, Service, ServiceSpec

__all__ = [
    "Affinity",
    "ClaimSource",
    "Condition",
    "Container",
    "ContainerImage",
    "ContainerPort",
    "ContainerState",
    "ContainerStatus",
    "EphemeralSource",
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
    "PodResourceClaim",
    "PodSpec",
    "PodStatus",
    "PodVolume",
    "PreferredSchedulingTerm",
    "PriorityClass",
    "ResourceRequirements",
    "Resources",
    "Running",
    "SchedulingGate",
    "SchedulingGroup",
    "Service",
    "ServiceSpec",
    "Status",
    "StatusDetails",
    "Taint",
    "Terminated",
    "Toleration",
    "TopologySpreadConstraint",
    "WeightedPodAffinityTerm",
    "WorkloadReference",
]
