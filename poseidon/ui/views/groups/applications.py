"""Shows applications: their workloads by zone, and the network cost of their traffic."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from poseidon.app_network.spec.app_groups import read_app_group
from poseidon.app_network.spec.keys import REGION, ZONE, Domain, domain_of
from poseidon.app_network.spec.ordering import topology_order
from poseidon.app_network.spec.topologies import NO_PAIRS, read_topology
from poseidon.kube.parsing.quantities import MAX_AMOUNT
from poseidon.ui.cluster.records import BOUND

if TYPE_CHECKING:
    from poseidon.app_network.spec.app_groups import Dependency, Workload
    from poseidon.app_network.spec.topologies import Levels
    from poseidon.ui.page_data import Known

MOST = 200
SAME_ZONE_COST, UNMEASURED_COST = 1, 100
"""Network costs that are assumed if no list states one, as in ``cost_models/network_aware/network_costs.py``."""

_USER_DEFINED = "UserDefined"
"""The list of network costs that the upstream plugin reads by default."""


@dataclass(slots=True)
class _Placed:
    """The pods of a workload: how many are on each node, and how many wait."""

    by_node: Counter[str] = field(default_factory=Counter)
    pending: int = 0


def list_applications(known: Known) -> list[dict[str, Any]]:
    """Return all applications, in order of names."""
    if not known.groups.app_groups:
        return []
    placed = _collect_placed(known)
    costs = _costs(known)
    domains = {
        each.name: domain_of(each.facts.labels)
        for each in known.store.nodes.values()
        if each.facts is not None
    }
    objects = sorted(
        known.groups.app_groups.values(), key=lambda each: (each.metadata.namespace, each.metadata.name)
    )
    found = []
    for each in objects[:MOST]:
        spec, _ = read_app_group(each.spec)
        order = topology_order(spec)
        name = each.metadata.name
        own = {
            workload.selector: placed.get((name, workload.selector), _Placed()) for workload in spec.workloads
        }
        rows = [
            _workload(one, own[one.selector], domains, order.positions.get(one.name))
            for one in spec.workloads
        ]
        edges = [
            _edge(one, other, own[one.selector], own.get(other.selector, _Placed()), domains, costs)
            for one in spec.workloads
            for other in one.dependencies
        ]
        found.append(
            {
                "appGroup": f"{each.metadata.namespace or 'default'}/{name}",
                "workloads": sorted(rows, key=lambda row: (row["order"] or 0, row["workload"])),
                "edges": edges,
                "cost": min(sum(edge["cost"] for edge in edges), MAX_AMOUNT),
                "zones": sorted({zone for row in rows for zone in row["zones"]}),
            }
        )
    return found


def _collect_placed(known: Known) -> dict[tuple[str, str], _Placed]:
    found: dict[tuple[str, str], _Placed] = {}
    for each in known.store.pods.values():
        if each.app_group:
            own = found.setdefault((each.app_group, each.workload), _Placed())
            if each.waits:
                own.pending += 1
            elif each.phase == BOUND:
                own.by_node[each.node] += 1
    return found


def _costs(known: Known) -> Levels:
    """Return the network costs between regions and zones: from the list that people wrote, or else from any list."""
    for each in sorted(
        known.groups.topologies.values(), key=lambda one: (one.metadata.namespace, one.metadata.name)
    ):
        weights = read_topology(each.spec)[0].weights
        if weights:
            return weights.get(_USER_DEFINED) or next(iter(weights.values()))
    return NO_PAIRS


def _workload(
    workload: Workload, placed: _Placed, domains: dict[str, Domain], order: int | None
) -> dict[str, Any]:
    zones: Counter[str] = Counter()
    for node, pods in placed.by_node.items():
        zones[domains.get(node, Domain()).zone] += pods
    return {
        "workload": workload.name,
        "order": order,
        "zones": dict(sorted(zones.items())),
        "pending": placed.pending,
    }


def _edge(
    workload: Workload,
    dependency: Dependency,
    one: _Placed,
    other: _Placed,
    domains: dict[str, Domain],
    costs: Levels,
) -> dict[str, Any]:
    """Return the network cost of all pairs of pods of two workloads, and how many pairs exceed their cost limit."""
    most = dependency.max_network_cost or None
    total = broken = 0
    both = one.by_node.keys() & other.by_node.keys()
    by_domain, by_other = _by_domain(one, domains), _by_domain(other, domains)
    together: Counter[Domain] = Counter()
    for node in both:
        together[domains.get(node, Domain())] += one.by_node[node] * other.by_node[node]
    for origin, pods in by_domain.items():
        for destination, others in by_other.items():
            pairs = pods * others - (together[origin] if origin == destination else 0)
            cost = cost_between(origin, destination, costs)
            total += pairs * cost
            if most is not None and cost > most:
                broken += pairs
    return {
        "from": workload.name,
        "to": dependency.name,
        "cost": min(total, MAX_AMOUNT),
        "max": most,
        "broken": broken,
    }


def _by_domain(placed: _Placed, domains: dict[str, Domain]) -> Counter[Domain]:
    found: Counter[Domain] = Counter()
    for node, pods in placed.by_node.items():
        found[domains.get(node, Domain())] += pods
    return found


def cost_between(origin: Domain, destination: Domain, costs: Levels) -> int:
    """Return the network cost between two nodes that are in the given regions and zones."""
    if origin == destination:
        return SAME_ZONE_COST
    if origin.region == destination.region:
        return costs[ZONE].get(origin.zone, {}).get(destination.zone, UNMEASURED_COST)
    return costs[REGION].get(origin.region, {}).get(destination.region, UNMEASURED_COST)
