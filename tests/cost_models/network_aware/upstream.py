"""The NetworkOverhead plugin pod by pod and pair by pair, as slowly and plainly as its Go code reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Costs = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Cluster:
    """``where``: region and zone of each node; ``region``, ``zone``: costs; ``placed``: (workload, node) per pod."""

    where: Sequence[tuple[str, str]]
    region: Costs
    zone: Costs
    placed: Sequence[tuple[str, int]]


def judge(cluster: Cluster, dependencies: Sequence[tuple[str, int]], node: int) -> tuple[int, int, int]:
    """Satisfied, violated and cost of one node, for a pod with dependencies (selector, maxNetworkCost)."""
    satisfied = violated = total = 0
    for selector, host in cluster.placed:
        for wanted, limit in dependencies:
            if wanted == selector:
                verdict, cost = judge_pair(cluster, limit, node, host)
                satisfied += verdict == "satisfied"
                violated += verdict == "violated"
                total += cost
    return satisfied, violated, total


def judge_pair(cluster: Cluster, limit: int, node: int, host: int) -> tuple[str, int]:
    """The verdict on a pod on ``node`` and one it depends on, on ``host``; and its cost."""
    region, zone = cluster.where[node]
    other_region, other_zone = cluster.where[host]
    if host == node:
        return "satisfied", 0
    if not other_region and not other_zone:
        return "violated", 100
    if region == other_region and zone == other_zone:
        return "satisfied", 1
    if region == other_region:
        found = cluster.zone.get(zone, {}).get(other_zone) if zone else None
    else:
        found = cluster.region.get(region, {}).get(other_region) if region else None
    if found is None:
        return "unknown", 100
    return ("satisfied" if found <= limit else "violated"), found


def scores(costs: Sequence[int]) -> list[int]:
    """NormalizeScore over the nodes that passed the filter."""
    if not costs:
        return []
    least, most = min(costs), max(costs)
    if least == most:
        return [0 if most == 0 else 100] * len(costs)
    return [100 - int(100.0 * (cost - least) / (most - least)) for cost in costs]
