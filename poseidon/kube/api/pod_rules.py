"""Defines a pod's rules about nodes and other pods: selectors, affinity, spread and tolerations."""

from __future__ import annotations

from msgspec import field

from poseidon.kube.api.metadata import Integer, KubeStruct


class LabelSelectorRequirement(KubeStruct, frozen=True):
    """One condition on a label of an object."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(KubeStruct, frozen=True):
    """Conditions that must all hold; an empty selector matches every object, an absent one (None) no object."""

    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class NodeSelectorRequirement(KubeStruct, frozen=True):
    """One condition on a label or field of a node."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(KubeStruct, frozen=True):
    """Conditions on a node that must all hold; an empty term matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(KubeStruct, frozen=True):
    """Terms of which at least one must match."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(KubeStruct, frozen=True):
    """A preference for nodes that match a term, with its weight (1 to 100)."""

    weight: Integer = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(KubeStruct, frozen=True):
    """Rules about nodes that hold when the pod is scheduled."""

    required: NodeSelector | None = field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[PreferredSchedulingTerm, ...] = field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(KubeStruct, frozen=True):
    """A selection of pods by labels and namespaces, and the node label whose values are the domains.

    Without ``namespaces`` and ``namespace_selector`` (None), the pod's own namespace counts.
    """

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(KubeStruct, frozen=True):
    """A preference for domains that meet a term, with its weight (1 to 100)."""

    weight: Integer = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(KubeStruct, frozen=True):
    """Rules about other pods that hold when the pod is scheduled: core/v1 PodAffinity and PodAntiAffinity."""

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
    """How evenly pods are spread over the values of a node label. Policies that are not set are ""."""

    max_skew: Integer = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Integer | None = None
    node_affinity_policy: str = ""
    node_taints_policy: str = ""
    match_label_keys: tuple[str, ...] = ()


class Toleration(KubeStruct, frozen=True):
    """core/v1 Toleration; an empty ``operator`` means Equal."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
