"""The order in which an application's workloads are scheduled, and the record that tells it to solvers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from poseidon.app_network.spec.sorting import ALGORITHMS, KAHN_SORT, CycleError

if TYPE_CHECKING:
    from poseidon.app_network.spec.app_groups import AppGroupSpec


@dataclass(frozen=True, slots=True)
class TopologyOrder:
    """Positions by the names of workloads, from 1; lower ones are scheduled earlier.

    ``algorithm`` is the one that counts; ``problem`` says why it is not the one asked for, or why the workloads
    stand as they were declared, "" if all is well. ``cyclic`` tells the latter from the former.
    """

    positions: Mapping[str, int]
    algorithm: str = KAHN_SORT
    problem: str = ""
    cyclic: bool = False


def dependency_graph(spec: AppGroupSpec) -> dict[str, tuple[str, ...]]:
    """Return each workload's dependencies; those that are not declared follow at the end, without any.

    What a workload's own replicas say to each other orders nothing and is left out.
    """
    graph: dict[str, tuple[str, ...]] = {
        each.name: tuple(other.name for other in each.dependencies if other.name != each.name)
        for each in spec.workloads
    }
    for each in spec.workloads:
        for other in each.dependencies:
            graph.setdefault(other.name, ())
    return graph


def topology_order(spec: AppGroupSpec) -> TopologyOrder:
    """Return the order of an application; an unknown algorithm counts as KahnSort, a cycle leaves it as declared."""
    algorithm, problem = spec.algorithm, ""
    if algorithm not in ALGORITHMS:
        problem = (
            f"spec.topologySortingAlgorithm: {algorithm!r} is unknown, {KAHN_SORT} is used; "
            f"write one of {', '.join(ALGORITHMS)}"
        )
        algorithm = KAHN_SORT
    graph = dependency_graph(spec)
    try:
        names, cyclic = ALGORITHMS[algorithm](graph), False
    except CycleError as error:
        names, cyclic = list(graph), True
        problem = f"spec.workloads: {error}; they are ordered as declared"
    positions = {name: index for index, name in enumerate(names, 1)}
    return TopologyOrder(positions, algorithm, problem, cyclic)


def app_group_payload(spec: AppGroupSpec, order: TopologyOrder) -> bytes:
    """Return the payload of an AppGroup's record; bandwidth is in bits per second."""
    workloads = [
        {
            "name": each.name,
            "selector": each.selector,
            "order": order.positions[each.name],
            "dependencies": [
                {
                    "workload": other.name,
                    "selector": other.selector,
                    "minBandwidth": other.min_bandwidth,
                    "maxNetworkCost": other.max_network_cost,
                }
                for other in each.dependencies
            ],
        }
        for each in spec.workloads
    ]
    return compact({"algorithm": order.algorithm, "workloads": workloads})


def compact(value: Any) -> bytes:
    """Return JSON that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
