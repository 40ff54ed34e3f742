"""Regions and zones of machines as domains, and the cost of traffic between them.

Source: ``Score`` and ``Filter`` of NetworkOverhead in kubernetes-sigs/scheduler-plugins. Unlike the original, this
module keeps the costs of regions and zones of the same name apart. Costs of zones are not used across regions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Float64, Int64
from cost_models.network_aware.records import REGION, ZONE, Pairs, TopologyRecord

REGION_KEY, ZONE_KEY = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"
SAME_ZONE_COST = 1.0
UNMEASURED_COST = 100.0
"""Costs that no list states, as ``SameZone`` and ``MaxCost`` of scheduler-plugins."""


@dataclass(frozen=True, slots=True)
class NetworkDomains:
    """The domains of M machines. ``by_machine``: int64[M], the domain of each machine; ``names``: region and zone of
    each domain, "" without a label.
    """

    by_machine: Int64
    names: tuple[tuple[str, str], ...]


def domains_of(labels: Sequence[Mapping[str, str]]) -> NetworkDomains:
    """Return the domains of machines with these labels, numbered in order of first occurrence."""
    numbers: dict[tuple[str, str], int] = {}
    of = [
        numbers.setdefault((row.get(REGION_KEY, ""), row.get(ZONE_KEY, "")), len(numbers)) for row in labels
    ]
    return NetworkDomains(np.array(of, dtype=np.int64), tuple(numbers))


def costs_between(domains: NetworkDomains, weights: Mapping[str, Pairs]) -> tuple[Float64, Float64]:
    """Return the costs and the ratings of all pairs of domains, float64[D, D] each; see ``PairTerms``.

    A target without region and zone costs 100 and violates every limit; a target in the same zone costs 1 and
    satisfies every limit; a pair whose cost is unknown costs 100, and neither satisfies nor violates a limit.
    """
    count = len(domains.names)
    cost, rating = np.empty((count, count)), np.empty((count, count))
    regions, zones = weights.get(REGION, {}), weights.get(ZONE, {})
    for here, (region, zone) in enumerate(domains.names):
        by_region = regions.get(region, {}) if region else {}
        by_zone = zones.get(zone, {}) if zone else {}
        for there, (other_region, other_zone) in enumerate(domains.names):
            if not other_region and not other_zone:
                cost[here, there], rating[here, there] = UNMEASURED_COST, np.inf
            elif region == other_region and zone == other_zone:
                cost[here, there], rating[here, there] = SAME_ZONE_COST, -np.inf
            else:
                found = by_zone.get(other_zone) if region == other_region else by_region.get(other_region)
                cost[here, there] = UNMEASURED_COST if found is None else found
                rating[here, there] = np.nan if found is None else found
    return cost, rating


def links_between(domains: NetworkDomains, topology: TopologyRecord) -> tuple[Int64, Int64]:
    """Return which link joins each pair of domains, int64[D, D], -1 if its capacity is not known, and the capacities of
    the links, int64[R].

    Tasks in two zones of one region use the link between the zones; tasks in other zones use the link between their
    regions.
    """
    count = len(domains.names)
    rows = np.full((count, count), -1, dtype=np.int64)
    numbers: dict[tuple[str, str, str], int] = {}
    limits: list[int] = []
    for here, (region, zone) in enumerate(domains.names):
        for there, (other_region, other_zone) in enumerate(domains.names):
            level, ends = (
                (REGION, (region, other_region)) if region != other_region else (ZONE, (zone, other_zone))
            )
            if ends[0] == ends[1]:
                continue
            limit = topology.capacity.get(level, {}).get(ends[0], {}).get(ends[1])
            if limit is not None:
                number = numbers.setdefault((level, *ends), len(numbers))
                if number == len(limits):
                    limits.append(limit)
                rows[here, there] = number
    return rows, np.array(limits, dtype=np.int64)
