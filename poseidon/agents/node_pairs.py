"""Which nodes are measured against each other: one pair per two regions, and per two zones of a region."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poseidon.app_network.spec.keys import Domain
    from poseidon.app_network.spec.netperf import NodePair


def node_pairs(domains: Mapping[str, Domain]) -> list[NodePair]:
    """Return ordered pairs, both directions of each, out of the nodes that can be measured.

    A zone is represented by its first node by name, a region by that of its first zone. Nodes without a region or
    without a zone represent only what they have.
    """
    zones: dict[tuple[str, str], str] = {}
    regions: dict[str, str] = {}
    for name in sorted(domains, key=lambda node: (domains[node], node)):
        region, zone = domains[name]
        if zone:
            zones.setdefault((region, zone), name)
        if region:
            regions.setdefault(region, name)
    pairs = list(combinations(regions.values(), 2))
    for (here, there), (one, other) in zip(
        combinations(zones, 2), combinations(zones.values(), 2), strict=True
    ):
        if here[0] == there[0]:
            pairs.append((one, other))
    return [pair for one, other in pairs for pair in ((one, other), (other, one))]
