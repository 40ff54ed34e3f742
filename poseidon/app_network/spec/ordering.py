"""Orders an application's workloads for scheduling, and makes the record that gives solvers this order.

The six algorithms are those of the network-aware scheduling proposal (KEP 260). A graph maps each workload to the
workloads on which it depends, in declared order; every workload is a key of the graph. All orders are deterministic:
where ties in scheduler-plugins depend on the order of a Go map, the order of declaration decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from poseidon.app_network.spec.app_groups import AppGroupSpec
from poseidon.app_network.spec.keys import KAHN_SORT
from poseidon.kube.parsing.strict_json import compact

Graph: TypeAlias = Mapping[str, Sequence[str]]


class CycleError(ValueError):
    """The error for workloads that depend on each other in a circle; ``cycle`` is such a circle."""

    def __init__(self, cycle: Sequence[str]) -> None:
        self.cycle = tuple(cycle)
        super().__init__("workloads depend on each other in a circle: " + " -> ".join((*cycle, cycle[0])))


def kahn_sort(graph: Graph) -> list[str]:
    """Return the workloads, each before its dependencies; raise ``CycleError`` if that is impossible.

    As in scheduler-plugins, a stack contains the workloads that no remaining workload depends on. Of several
    workloads that are added together, the last declared one therefore comes first.
    """
    parents = dict.fromkeys(graph, 0)
    for children in graph.values():
        for child in children:
            parents[child] += 1
    stack = [name for name, count in parents.items() if not count]
    order = []
    while stack:
        name = stack.pop()
        for child in graph[name]:
            parents[child] -= 1
            if not parents[child]:
                stack.append(child)
        order.append(name)
    if len(order) < len(graph):
        raise CycleError(find_cycle(graph))
    return order


def tarjan_sort(graph: Graph) -> list[str]:
    """Return the reverse of the order in which a depth-first search finishes the workloads.

    Raises ``CycleError``. Roots and children are visited in declared order, and each workload comes before its
    dependencies.
    """
    done: set[str] = set()
    left = []
    for root in graph:
        if root in done:
            continue
        path = [root]
        on_path = {root}
        pending: list[Iterator[str]] = [iter(graph[root])]
        while path:
            child = next(pending[-1], None)
            if child is None:
                name = path.pop()
                pending.pop()
                on_path.discard(name)
                done.add(name)
                left.append(name)
            elif child in on_path:
                raise CycleError(path[path.index(child) :])
            elif child not in done:
                path.append(child)
                on_path.add(child)
                pending.append(iter(graph[child]))
    left.reverse()
    return left


def find_cycle(graph: Graph) -> tuple[str, ...]:
    """Return the first circle of workloads that a depth-first search finds, () if there is none."""
    try:
        tarjan_sort(graph)
    except CycleError as error:
        return error.cycle
    return ()


def alternate(order: Sequence[str]) -> list[str]:
    """Return the elements in the order first, last, second, last but one, and so on."""
    count = len(order)
    return [order[index // 2] if index % 2 == 0 else order[count - 1 - index // 2] for index in range(count)]


ALGORITHMS: Mapping[str, Callable[[Graph], list[str]]] = MappingProxyType(
    {
        KAHN_SORT: kahn_sort,
        "AlternateKahn": lambda graph: alternate(kahn_sort(graph)),
        "ReverseKahn": lambda graph: kahn_sort(graph)[::-1],
        "TarjanSort": tarjan_sort,
        "AlternateTarjan": lambda graph: alternate(tarjan_sort(graph)),
        "ReverseTarjan": lambda graph: tarjan_sort(graph)[::-1],
    }
)
"""The algorithms by their names in ``spec.topologySortingAlgorithm``."""


@dataclass(frozen=True, slots=True)
class TopologyOrder:
    """The positions of workloads by name, from 1; workloads with lower positions are scheduled earlier.

    ``algorithm``: the algorithm that was used. ``problem``: why the order is not the requested one, or why the
    workloads are in declared order, "" for no problem. ``cyclic``: whether the workloads are in declared order
    because of a circle.
    """

    positions: Mapping[str, int]
    algorithm: str = KAHN_SORT
    problem: str = ""
    cyclic: bool = False


def dependency_graph(spec: AppGroupSpec) -> dict[str, tuple[str, ...]]:
    """Return the dependencies of each workload; undeclared workloads come last, without dependencies.

    A dependency of a workload on itself does not affect the order and is left out.
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
    """Return the positions of an application's workloads in the requested order.

    An unknown algorithm is replaced by KahnSort; workloads that depend on each other in a circle stay in declared
    order.
    """
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
