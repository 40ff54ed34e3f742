"""Solves the second network of a round: it assigns machines to classes, at the cost of the evictions needed there.

    class ──bundle──► machine ──1──► sink          class ──no place──► sink

At most one bundle (set of victims) per machine leaves. Only the cheapest machines of each class take part, a few more
than twice the number of its tasks. Tasks that get no place take part in the next pass.

The cost of a bundle is a list of figures; two costs are compared figure by figure. As many figures as fit into one
integer are minimised at once. By complementary slackness, a flow is optimal for these figures exactly if arcs with
negative reduced cost are full, and arcs with positive reduced cost are empty. Arcs with reduced cost 0 may carry flow
or not. Among the flows that are optimal for these figures, the next figures choose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.network.network import Arcs, join_arcs
from firmament.core.flow.shortest_paths import ArcBlock, shorten
from firmament.core.preemption.bundles import Bundles
from firmament.core.preemption.problem import LOWEST_WEIGHT
from firmament.solvers.base import Solver

LARGEST_TOTAL = 2**61
"""Costs times the number of nodes stay below this limit, so that the solver's sums fit into 64 bits."""


def choose_bundles(
    offered: Mapping[int, Bundles],
    tasks: Mapping[int, int],
    machines: int,
    solver: Solver,
    time_limit: float | None,
    spare: int,
) -> list[tuple[int, int]]:
    """Return the bundles that the cheapest flow evicts, the cheapest first: class, and index in its ``Bundles``.

    As many tasks as possible get a machine. Among the choices with most places, the sum of ``over`` is minimal. Then
    as few bundles as possible have the highest ``top`` (the most important victim), then as few as possible the next
    highest, and so on. Last, the sums of ``total`` and ``count`` are minimal. ``tasks``: number of waiting tasks per
    class; ``machines``: number of machines; ``spare``: how many more bundles than twice its tasks each class may use.
    Errors of the solver are raised.
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
    cheapest = [bundles.select(place) for bundles, place in zip(offered.values(), arcs_place, strict=True)]
    keys = [np.concatenate(column) for column in zip(*(each.keys() for each in cheapest), strict=True)]
    machine = np.concatenate([each.rows for each in cheapest])
    network = _Network(cls_of, machine, tasks)
    taken = np.flatnonzero(network.least(_figures(keys, network.moved), solver, time_limit))
    order = taken[np.lexsort([key[taken] for key in reversed(keys)])]
    return list(zip(cls_of[order].tolist(), place_of[order].tolist(), strict=True))


def _cheapest(bundles: Bundles, want: int, begin: int, machines: int) -> Int64:
    """Return the indices of the ``want`` cheapest bundles; of equal ones, machines from row ``begin`` on come first."""
    first = _foremost(bundles, want)
    turned = (bundles.rows[first] - begin) % max(1, machines)
    order = np.lexsort((turned, *(key[first] for key in reversed(bundles.keys()))))
    return first[order[:want]]


def _foremost(bundles: Bundles, want: int) -> Int64:
    """Return indices of bundles among which the ``want`` cheapest are, so that fewer bundles have to be sorted."""
    allowed = np.flatnonzero(bundles.over == 0)
    if len(allowed) <= want:
        return np.arange(len(bundles.rows))
    top = bundles.top[allowed]
    return allowed[top <= np.partition(top, want)[want]]


def _figures(keys: Sequence[Int64], moved: int) -> list[Int64]:
    """Return the figures to be minimised, the most important first: int64[A] each.

    At most ``moved`` bundles are chosen.
    """
    over, top, total, count, age = keys
    tops = np.unique(top)[:0:-1]
    priorities = total - count * LOWEST_WEIGHT
    sums = [total, count]
    if int(np.ptp(priorities)) * moved < LOWEST_WEIGHT:  # These smaller numbers have the same order.
        sums = [count, priorities]
    started = np.unique(age, return_inverse=True)[1]
    return [over, *((top == each).astype(np.int64) for each in tops), *sums, started]


class _Network:
    """A network with A arcs from classes to machines, and arcs from classes and machines to the sink.

    After each solve, arcs are removed if their flow is the same in all optima of the figures so far.
    """

    def __init__(self, cls_of: Int64, machine: Int64, tasks: Mapping[int, int]) -> None:
        classes, tail = np.unique(cls_of, return_inverse=True)
        machines, head = np.unique(machine, return_inverse=True)
        first, sink = len(classes), len(classes) + len(machines)
        waiting = np.array([tasks[cls] for cls in classes.tolist()], dtype=np.int64)
        self._arcs = len(tail)
        self.moved = int(min(waiting.sum(), len(machines)))
        """The largest number of bundles that can be chosen."""
        self._tails = np.concatenate([tail, np.arange(sink)])
        self._heads = np.concatenate([first + head, np.full(sink, sink)])
        self._capacities = np.concatenate([np.ones_like(tail), waiting, np.ones_like(machines)])
        self._unplaced = np.zeros(len(self._tails), dtype=np.int64)
        self._unplaced[self._arcs : self._arcs + first] = 1
        self._supplies = np.zeros(sink + 1, dtype=np.int64)
        self._supplies[:first] = waiting
        self._supplies[sink] = -int(waiting.sum())
        self._active = np.arange(len(self._tails))
        self._flows = np.zeros(len(self._tails), dtype=np.int64)

    def least(self, figures: Sequence[Int64], solver: Solver, time_limit: float | None) -> Int64:
        """Return the flow of as many bundles as possible whose figures are least in lexicographic order: int64[A]."""
        others = np.zeros(len(self._tails) - self._arcs, dtype=np.int64)
        left = [self._unplaced, *(np.concatenate([figure, others]) for figure in figures)]
        while left:
            cost, left = self._pack(left)
            flows = self._solve(cost, solver, time_limit)
            if left and cost.any():
                self._narrow(cost, flows)
        return self._flows[: self._arcs]

    def _pack(self, figures: list[Int64]) -> tuple[Int64, list[Int64]]:
        """Return one cost per active arc that combines as many figures as fit, and the figures that remain."""
        largest = LARGEST_TOTAL // (len(self._supplies) + 2)
        bundle = self._active < self._arcs
        cost = np.zeros(len(self._active), dtype=np.int64)
        most = 0
        for number, figure in enumerate(figures):
            column = figure[self._active]
            if bundle.any():  # a constant per bundle changes no choice: the first figure fixes their number
                column[bundle] -= column[bundle].min()
            highest = int(column.max(initial=0))
            if highest == 0:
                continue
            column //= np.gcd.reduce(column)
            highest = int(column.max())
            step = highest * self.moved + 1
            if most * step + highest > largest:
                if most:
                    return cost, figures[number:]
                column >>= max(0, highest.bit_length() - largest.bit_length() + 1)
                highest = int(column.max())
            cost = cost * step + column
            most = most * step + highest
        return cost, []

    def _solve(self, cost: Int64, solver: Solver, time_limit: float | None) -> Int64:
        """Return the cheapest flow of the active arcs at this cost, and store it in ``_flows``."""
        arcs = self._active
        problem = join_arcs(
            self._supplies, Arcs(self._tails[arcs], self._heads[arcs], self._capacities[arcs], cost)
        )
        flows = solver.solve(problem, time_limit=time_limit).flows
        self._flows[arcs] = flows
        return flows

    def _narrow(self, cost: Int64, flows: Int64) -> None:
        """Keep active only the arcs whose flow differs between optimal flows."""
        arcs = self._active
        tails, heads, capacities = self._tails[arcs], self._heads[arcs], self._capacities[arcs]
        price = _prices(len(self._supplies), tails, heads, capacities, cost, flows)
        reduced = cost + price[tails] - price[heads]
        full = reduced < 0
        np.subtract.at(self._supplies, tails[full], capacities[full])
        np.add.at(self._supplies, heads[full], capacities[full])
        self._active = arcs[reduced == 0]


def _prices(nodes: int, tails: Int64, heads: Int64, capacities: Int64, cost: Int64, flows: Int64) -> Int64:
    """Return node prices that prove a flow optimal, the shortest distances in the residual graph: int64[N].

    The search ends, as an optimal flow leaves no cycle of negative cost. A path passes each class once, so few rounds
    are needed.
    """
    more, less = flows < capacities, flows > 0
    begin = np.concatenate([tails[more], heads[less]])
    end = np.concatenate([heads[more], tails[less]])
    length = np.concatenate([cost[more], -cost[less]])
    price = np.zeros(nodes, dtype=np.int64)
    shorten(price, [ArcBlock.sort_by_end(end, begin, length, nodes)], nodes)
    return price
