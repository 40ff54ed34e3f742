"""Costs between regions and between zones out of latencies between nodes."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from poseidon.app_network.spec.keys import REGION, ZONE, Domain
from poseidon.app_network.spec.netperf import NodePair, mean_rounded_up

if TYPE_CHECKING:
    from poseidon.app_network.spec.topologies import Levels

Edges = dict[str, dict[str, int]]


def domain_costs(measured: Mapping[NodePair, int], domains: Mapping[str, Domain]) -> Levels:
    """Return the cost of each pair of regions, and of each pair of zones of one region, that can be told.

    The cost between two domains is the mean over all pairs of nodes that were measured between them, in either
    direction, rounded up; or that of a way through others if it is less (Dijkstra's shortest path, as the proposal has
    it). It is the same in both directions. Upstream averages each new figure with the shortest path so far, so that
    its result depends on the order of nodes; where all pairs of nodes agree, the two are equal. Pairs of domains
    between which nothing is known are left out, where upstream would call them free.
    """
    samples: dict[str, dict[tuple[str, str], list[int]]] = {
        REGION: defaultdict(list),
        ZONE: defaultdict(list),
    }
    for (origin, destination), latency in measured.items():
        a, b = domains.get(origin), domains.get(destination)
        if a is None or b is None:
            continue
        if a.region != b.region:
            level, ends = REGION, (a.region, b.region)
        else:
            level, ends = ZONE, (a.zone, b.zone)
        low, high = min(ends), max(ends)
        if low and low != high:
            samples[level][low, high].append(latency)
    found = {level: _edges(each) for level, each in samples.items()}
    # The length of the shortest path between any two vertices that are joined by one.
    return {
        level: {origin: _from(origin, edges) for origin in sorted(edges)} for level, edges in found.items()
    }


def _edges(samples: Mapping[tuple[str, str], list[int]]) -> Edges:
    edges: Edges = defaultdict(dict)
    for (a, b), values in samples.items():
        edges[a][b] = edges[b][a] = mean_rounded_up(values)
    return edges


def _from(origin: str, edges: Edges) -> dict[str, int]:
    lengths: dict[str, int] = {}
    frontier = [(0, origin)]
    while frontier:
        length, vertex = heapq.heappop(frontier)
        if vertex in lengths:
            continue
        lengths[vertex] = length
        for other, step in edges[vertex].items():
            if other not in lengths:
                heapq.heappush(frontier, (length + step, other))
    del lengths[origin]
    return dict(sorted(lengths.items()))
