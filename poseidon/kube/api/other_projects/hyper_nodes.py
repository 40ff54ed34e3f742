"""Defines Volcano's HyperNodes: which nodes and HyperNodes are close to each other on the network."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from poseidon.kube.api.metadata import Integer, KubeStruct, ObjectMeta
from poseidon.kube.api.pod_rules import LabelSelector


class ExactMatch(KubeStruct, frozen=True):
    """Selects the member with this name."""

    name: str = ""


class RegexMatch(KubeStruct, frozen=True):
    """Selects the nodes in whose names the pattern occurs."""

    pattern: str = ""


class MemberSelector(KubeStruct, frozen=True):
    """The members of a HyperNode, named in one of three ways."""

    exact_match: ExactMatch | None = None
    regex_match: RegexMatch | None = None
    label_match: LabelSelector | None = None


class HyperNodeMember(KubeStruct, frozen=True):
    """Nodes, or a HyperNode, by ``type``: ``Node`` or ``HyperNode``."""

    type: str = ""
    selector: MemberSelector = MemberSelector()


class HyperNodeSpec(KubeStruct, frozen=True):
    """Spec of a HyperNode: its members, and its tier.

    The higher the tier, the farther its members are from each other.
    """

    tier: Integer = 0
    tier_name: str = ""
    members: tuple[HyperNodeMember, ...] = ()


class HyperNode(KubeStruct, frozen=True):
    """topology.volcano.sh/v1alpha1 HyperNode."""

    metadata: ObjectMeta = ObjectMeta()
    spec: HyperNodeSpec = HyperNodeSpec()


class Tiers(NamedTuple):
    """The tiers of the cluster's HyperNodes, lowest first, and by name if they have one."""

    levels: tuple[int, ...]
    by_name: Mapping[str, int]


NO_TIERS = Tiers((), MappingProxyType({}))


def name_tier(tier: int) -> str:
    """Return the key of the label that names a machine's HyperNode of a tier, or of the next lower tier that has one.

    HyperNodes are Volcano's objects for groups of nodes in a network.

    Only machines have this label; nodes do not.
    """
    return f"topology.volcano.sh/tier-{tier}"
