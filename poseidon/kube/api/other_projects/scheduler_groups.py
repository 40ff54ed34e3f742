"""Defines the groups of pods that KAI's and Grove's controllers write for schedulers; groups may contain groups."""

from __future__ import annotations

from msgspec import field

from poseidon.kube.api.metadata import Integer, KubeStruct, ObjectMeta


class KaiTopologyConstraint(KubeStruct, frozen=True):
    """Two labels of nodes: all pods have to share a value of the first, and share one of the second if possible."""

    required_topology_level: str = ""
    preferred_topology_level: str = ""


class KaiSubGroup(KubeStruct, frozen=True):
    """A group within a PodGroup; ``parent`` names the group that contains it."""

    name: str = ""
    min_member: Integer = 0
    min_sub_group: Integer | None = None
    parent: str | None = None
    topology_constraint: KaiTopologyConstraint | None = None


class KaiPodGroupSpec(KubeStruct, frozen=True):
    """Spec of KAI's PodGroup: how many pods are placed together, and the groups within it."""

    min_member: Integer = 0
    min_sub_group: Integer | None = None
    priority_class_name: str = ""
    topology_constraint: KaiTopologyConstraint | None = None
    sub_groups: tuple[KaiSubGroup, ...] = ()


class KaiPodGroup(KubeStruct, frozen=True):
    """scheduling.run.ai/v2alpha2 PodGroup: pods have its name in an annotation, their inner group's in a label."""

    metadata: ObjectMeta = ObjectMeta()
    spec: KaiPodGroupSpec = KaiPodGroupSpec()


class PackConstraint(KubeStruct, frozen=True):
    """Two labels of nodes: all pods have to share a value of the first, and share one of the second if possible."""

    required: str | None = None
    preferred: str | None = None


class GangTopologyConstraint(KubeStruct, frozen=True):
    """The domains in which the pods of a gang, or of some of its groups, may be placed."""

    pack_constraint: PackConstraint | None = None


class GangPodGroup(KubeStruct, frozen=True):
    """The pods of one PodClique in a gang."""

    name: str = ""
    min_replicas: Integer = 0
    topology_constraint: GangTopologyConstraint | None = None


class GangGroupConfig(KubeStruct, frozen=True):
    """Several groups of a gang that share one topology constraint."""

    name: str = ""
    pod_group_names: tuple[str, ...] = ()
    topology_constraint: GangTopologyConstraint | None = None


class PodGangSpec(KubeStruct, frozen=True):
    """The groups of a gang, which are all placed together."""

    podgroups: tuple[GangPodGroup, ...] = ()
    topology_constraint: GangTopologyConstraint | None = None
    topology_constraint_group_configs: tuple[GangGroupConfig, ...] = field(default_factory=tuple)
    priority_class_name: str = ""


class PodGang(KubeStruct, frozen=True):
    """scheduler.grove.io/v1alpha1 PodGang, which Grove creates for a PodCliqueSet: pods have its name in a label."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodGangSpec = PodGangSpec()
