"""Reads the latencies between nodes from a ConfigMap, and computes the costs between regions and zones from them.

Two forms of keys are in use. scheduler-plugins reads the first form, and the netperf script writes the second one:

    netperf.p90.latency.milliseconds.origin.<node>.destination.<node>
    netperf_p90_latency_microseconds.origin.<node>.destination.<node>

A key in either form may state its value in either unit. Microseconds are rounded up to milliseconds, so that every
link has a cost above 0.
"""

from __future__ import annotations

import heapq
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TypeAlias

from poseidon.app_network.spec.keys import REGION, ZONE, Domain
from poseidon.app_network.spec.topologies import Levels
from poseidon.kube.parsing.defects import Defect

DEFAULT_PERCENTILE = "p90"

NodePair: TypeAlias = tuple[str, str]

_KEY = re.compile(
    r"netperf[._](?P<percentile>p\d+)[._]latency[._](?P<unit>milliseconds|microseconds)"
    r"\.origin\.(?P<origin>.+?)\.destination\.(?P<destination>.+)",
    re.ASCII,
)
_VALUE = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)
_PER_MILLISECOND = {"milliseconds": 1, "microseconds": 1000}
_FORMS = {
    "milliseconds": "netperf.{percentile}.latency.milliseconds.origin.{origin}.destination.{destination}",
    "microseconds": "netperf_{percentile}_latency_microseconds.origin.{origin}.destination.{destination}",
}

Edges = dict[str, dict[str, int]]


def read_measurements(
    data: Mapping[str, str], percentile: str = DEFAULT_PERCENTILE
) -> tuple[dict[NodePair, int], tuple[Defect, ...]]:
    """Return the milliseconds between each origin and destination, rounded up, and the defects of values.

    Keys of other forms and of other percentiles are ignored. If a pair is given in both units, the milliseconds count.
    """
    found: dict[NodePair, int] = {}
    whole: set[NodePair] = set()
    defects = []
    for key in sorted(data):
        match = _KEY.fullmatch(key)
        if match is None or match["percentile"] != percentile:
            continue
        value = data[key].strip()
        if not _VALUE.fullmatch(value):
            defects.append(Defect(f"data[{key}]", f"{data[key]!r} is not a number of {match['unit']}"))
            continue
        pair = (match["origin"], match["destination"])
        if pair in whole or pair[0] == pair[1]:
            continue
        if match["unit"] == "milliseconds":
            whole.add(pair)
        found[pair] = round_up(Fraction(value) / _PER_MILLISECOND[match["unit"]])
    return found, tuple(defects)


def measurement_keys(percentile: str, pair: NodePair) -> Mapping[str, str]:
    """Return the ConfigMap's key for a measurement of ``pair``, for each unit of time."""
    origin, destination = pair
    return {
        unit: form.format(percentile=percentile, origin=origin, destination=destination)
        for unit, form in _FORMS.items()
    }


def is_measurement(key: str) -> bool:
    """Return whether a key of a ConfigMap has one of the two forms."""
    return _KEY.fullmatch(key) is not None


def mean_rounded_up(values: Iterable[int]) -> int:
    """Return the mean of at least one number, rounded up."""
    listed = list(values)
    return -(-sum(listed) // len(listed))


def round_up(value: Fraction) -> int:
    """Return the smallest whole number that is not below ``value``."""
    return -(-value.numerator // value.denominator)


def domain_costs(measured: Mapping[NodePair, int], domains: Mapping[str, Domain]) -> Levels:
    """Return the cost of each pair of regions, and of each pair of zones of one region, from measured latencies.

    The cost between two domains is the mean latency over all measured pairs of nodes between them, in both
    directions, rounded up. If a path through other domains costs less, its cost counts (Dijkstra's shortest path, as
    in the proposal). A cost is the same in both directions. In scheduler-plugins, each new figure is averaged with
    the shortest path so far, so that the result depends on the order of nodes. If all pairs of nodes have the same
    latency, both results are equal. Pairs of domains without a measured path are left out; scheduler-plugins gives
    them cost 0.
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
    # For each origin, the result has the length of the shortest path to each domain that can be reached.
    return {
        level: {origin: _find_distances(origin, edges) for origin in sorted(edges)}
        for level, edges in found.items()
    }


def _edges(samples: Mapping[tuple[str, str], list[int]]) -> Edges:
    edges: Edges = defaultdict(dict)
    for (a, b), values in samples.items():
        edges[a][b] = edges[b][a] = mean_rounded_up(values)
    return edges


def _find_distances(origin: str, edges: Edges) -> dict[str, int]:
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
