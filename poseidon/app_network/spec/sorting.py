"""The six orders of the network-aware scheduling proposal (KEP 260) over the workloads of an application.

A graph maps each workload to those that it depends on, in declared order; every workload that occurs is a key. All
orders are deterministic: where upstream leaves ties to the order of a Go map, the order of declaration decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

Graph: TypeAlias = Mapping[str, Sequence[str]]


class CycleError(ValueError):
    """Workloads that depend on each other in a circle. ``cycle``: one such circle, its first element not repeated."""

    def __init__(self, cycle: Sequence[str]) -> None:
        self.cycle = tuple(cycle)
        super().__init__("workloads depend on each other in a circle: " + " -> ".join((*cycle, cycle[0])))


def kahn_sort(graph: Graph) -> list[str]:
    """Return each workload before those it depends on; of those that become free together the last declared first.

    The frontier is a stack, as upstream's is. Raises ``CycleError``.
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
    """Return the reverse of the order in which a depth-first search leaves the workloads. Raises ``CycleError``.

    Roots and children are visited in declared order, so that parents come before children here too.
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
    """Return the first circle that a depth-first search meets, () if there is none."""
    try:
        tarjan_sort(graph)
    except CycleError as error:
        return error.cycle
    return ()


def alternated(order: Sequence[str]) -> list[str]:
    """Return first, last, second, last but one, and so on."""
    count = len(order)
    return [order[index // 2] if index % 2 == 0 else order[count - 1 - index // 2] for index in range(count)]


KAHN_SORT = "KahnSort"
"""What counts when the name of an algorithm is unknown."""

ALGORITHMS: Mapping[str, Callable[[Graph], list[str]]] = MappingProxyType(
    {
        KAHN_SORT: kahn_sort,
        "AlternateKahn": lambda graph: alternated(kahn_sort(graph)),
        "ReverseKahn": lambda graph: kahn_sort(graph)[::-1],
        "TarjanSort": tarjan_sort,
        "AlternateTarjan": lambda graph: alternated(tarjan_sort(graph)),
        "ReverseTarjan": lambda graph: tarjan_sort(graph)[::-1],
    }
)
"""By the names of ``spec.topologySortingAlgorithm``."""
