"""Bundles of victims: who would have to go from each machine for one task of a class, and which of them are taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.ranks import runs
from firmament.solvers.base import Arcs, FlowProblem, Solver


@dataclass(frozen=True, slots=True)
class Bundles:
    """One bundle per machine, R machines with at most J tasks each; the lower, the better, in this order:

    ``over``: int64[R], tasks that no budget allows to go; ``count``: int64[R], tasks that go; ``top``, ``total``:
    int64[R], highest and summed priority of those; ``age``: float64[R], minus when the first of the most important of
    them started. ``victims``: bool[R, J] over ``slots`` (int64[R, J]) on ``rows`` (int64[R]). Tasks on other machines
    that go with their gangs count in all figures, and are not listed.
    """

    rows: Int64
    slots: Int64
    victims: Bool
    over: Int64
    count: Int64
    top: Int64
    total: Int64
    age: Float64

    def keys(self) -> tuple[Float64 | Int64, ...]:
        """What bundles compare by, the most telling first."""
        return self.over, self.count, self.top, self.total, self.age

    def taken(self, where: Bool | Int64) -> Bundles:
        """The bundles for which ``where`` (bool[R]) holds, or those that it names."""
        return Bundles(*(getattr(self, each.name)[where] for each in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[Bundles], nobody: int) -> Bundles:
        """All bundles in order of machine; ``nobody`` stands for no task in ``slots``."""
        if len(parts) == 1:
            return parts[0]
        width = max(part.slots.shape[1] for part in parts)
        order = np.argsort(np.concatenate([part.rows for part in parts]), kind="stable")
        columns = []
        for each in fields(cls):
            arrays = [getattr(part, each.name) for part in parts]
            if arrays[0].ndim > 1:
                filler = nobody if each.name == "slots" else 0
                arrays = [
                    np.pad(array, ((0, 0), (0, width - array.shape[1])), constant_values=filler)
                    if array.shape[1] < width
                    else array
                    for array in arrays
                ]
            columns.append(np.concatenate(arrays)[order])
        return cls(*columns)

    @classmethod
    def best(cls, parts: Sequence[Bundles], nobody: int) -> Bundles:
        """The best bundle of each machine; the earlier part's of equals. ``nobody`` as for ``joined``."""
        found = cls.joined(parts, nobody)
        if len(parts) == 1:
            return found
        order = np.lexsort((*reversed(found.keys()), found.rows))
        return found.taken(order[runs(found.rows[order])[0]])

    def or_better(self, other: Bundles) -> Bundles:
        """Of two bundles for each machine the better one, this one's of equals."""
        second = np.zeros(len(self.rows), dtype=np.bool_)
        equal = np.ones(len(self.rows), dtype=np.bool_)
        for mine, yours in zip(self.keys(), other.keys(), strict=True):
            second |= equal & (yours < mine)
            equal &= yours == mine
        columns = []
        for each in fields(self):
            mine, yours = getattr(self, each.name), getattr(other, each.name)
            columns.append(np.where(second[:, None] if mine.ndim > 1 else second, yours, mine))
        return Bundles(*columns)

    def of(self, place: int) -> list[int]:
        """The tasks of one bundle that are on its machine."""
        victims: list[int] = self.slots[place][self.victims[place]].tolist()
        return victims


# --- The second network of a round: which class gets which machine, at the price of the bundle that has to go there.
#
#     class ──bundle──► machine ──1──► sink          class ──penalty──► sink
#
# One bundle per machine at most. Of each class only its cheapest machines take part: twice as many as it has tasks, and
# some; what is left over takes part in the next pass.


LARGEST_TOTAL = 2**61
"""Costs stay below this over the number of nodes, so that the solver's sums stay within 64 bits."""


def chosen_bundles(
    offered: Mapping[int, Bundles],
    tasks: Mapping[int, int],
    machines: int,
    solver: Solver,
    time_limit: float | None,
    spare: int,
) -> list[tuple[int, int]]:
    """(class, place in its ``Bundles``) of the bundles that the cheapest flow carries, the cheapest first.

    As many tasks as possible get a machine; among such choices the sums of ``Bundles.keys`` are least, column by
    column. ``tasks``: how many of each class wait; ``machines``: M. Raises what the solver raises.
    """
    arcs_class: list[Int64] = []
    arcs_place: list[Int64] = []
    begin = 0
    for cls, bundles in offered.items():
        place = _cheapest(bundles, 2 * tasks[cls] + spare, begin, machines)
        begin += tasks[cls]
        arcs_class.append(np.full(len(place), cls))
        arcs_place.append(place)
    cls_of, place_of = np.concatenate(arcs_class), np.concatenate(arcs_place)
    if len(cls_of) == 0:
        return []
    if len(offered) == 1:
        cls = int(cls_of[0])
        return [(cls, place) for place in place_of[: tasks[cls]].tolist()]
    cheapest = [bundles.taken(place) for bundles, place in zip(offered.values(), arcs_place, strict=True)]
    keys = [np.concatenate(column) for column in zip(*(each.keys() for each in cheapest), strict=True)]
    machine = np.concatenate([each.rows for each in cheapest])
    taken = _flow(cls_of, machine, keys, tasks, solver, time_limit)
    order = taken[np.lexsort([key[taken] for key in reversed(keys)])]
    return list(zip(cls_of[order].tolist(), place_of[order].tolist(), strict=True))


def _cheapest(bundles: Bundles, want: int, begin: int, machines: int) -> Int64:
    """Places of the ``want`` cheapest bundles; of equals those on machines from row ``begin`` on come first."""
    turned = (bundles.rows - begin) % max(1, machines)
    order: Int64 = np.lexsort((turned, *reversed(bundles.keys())))
    return order[:want]


def _flow(
    cls_of: Int64,
    machine: Int64,
    keys: list[Int64],
    tasks: Mapping[int, int],
    solver: Solver,
    time_limit: float | None,
) -> Int64:
    """Arcs that carry flow."""
    classes, tail = np.unique(cls_of, return_inverse=True)
    machines, head = np.unique(machine, return_inverse=True)
    first = len(classes)
    sink = first + len(machines)
    waiting = np.array([tasks[cls] for cls in classes.tolist()], dtype=np.int64)
    moved = int(min(waiting.sum(), len(machines)))
    chain = min(len(classes), len(machines)) + 1
    cost = _costs(keys, moved, LARGEST_TOTAL // ((sink + 2) * (chain + 1)))
    supplies = np.zeros(sink + 1, dtype=np.int64)
    supplies[:first] = waiting
    supplies[sink] = -int(waiting.sum())
    solution = solver.solve(
        FlowProblem.of(
            supplies,
            Arcs(tail, first + head, 1, cost),
            Arcs(np.arange(first), sink, waiting, (int(cost.max()) + 1) * chain),
            Arcs(first + np.arange(len(machines)), sink, 1, 0),
        ),
        time_limit=time_limit,
    )
    return np.flatnonzero(solution.flows[: len(tail)] > 0)


def _costs(keys: list[Int64], moved: int, largest: int) -> Int64:
    """Integers whose sums over ``moved`` arcs order like the sums of the keys one after another.

    ``over`` and ``count`` are summed exactly, the other keys as their common rank. Where the numbers would exceed
    ``largest``, ranks are made coarser, and then the keys dominate each other per arc only.
    """
    over, count = keys[0], keys[1]
    order = np.lexsort(list(reversed(keys[2:])))
    change = np.zeros(len(order), dtype=np.bool_)
    for key in keys[2:]:
        change[1:] |= key[order][1:] != key[order][:-1]
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.cumsum(change)
    while True:
        most = int(rank.max(initial=0))
        for times in (moved, 1):
            per_count = most * times + 1
            per_over = (int(count.max(initial=0)) * per_count + most) * times + 1
            if int(over.max(initial=0)) * per_over + per_over <= largest:
                return over * per_over + count * per_count + rank
        rank >>= 1
