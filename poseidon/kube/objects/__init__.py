"""The scheduling-relevant fields of core Kubernetes objects, as msgspec structs.

Unknown fields are skipped while decoding, absent ones take Kubernetes' own defaults. Attributes are in
snake_case, wire names in camelCase. Lists become tuples, so that an empty one costs nothing. `decoding` says
how nulls and malformed objects are treated.
"""

from __future__ import annotations

from poseidon.kube.objects.base import Integer, KubeStruct, Number, Resources
from poseidon.kube.objects.containers import (
    Container,
    ContainerPort,
    ContainerState,
    ContainerStatus,
    ResourceRequirements,
    Running,
    Terminated,
)
from poseidon.kube.objects.metadata import (
    Condition,
    ListMeta,
    ObjectMeta,
    OwnerReference,
    Status,
    StatusDetails,
)
from poseidon.kube.objects.nodes import ContainerImage, Node, NodeSpec, NodeStatus, Taint
from poseidon.kube.objects.pods import (
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
from poseidon.kube.objects.policies import Namespace, PriorityClass, Service, ServiceSpec
from poseidon.kube.objects.rules import (
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
