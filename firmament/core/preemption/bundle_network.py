"""The second network of a round: which class gets which machine, at the price of the bundle that must leave.

    class ──bundle──► machine ──1──► sink          class ──no place──► sink

One bundle per machine at most. Of each class only its cheapest machines take part, a few more than twice the number of
its tasks; tasks that remain take part in the next pass.

Bundles have no single price: their figures count one after another. As many figures as fit into one cost are minimised
at once. By complementary slackness, exactly the flows that are optimal so far remain if arcs with negative reduced cost
are kept full, those with positive reduced cost are kept empty, and the others are free. The next figures choose among
these flows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.network.network import Arcs, join_arcs
from firmament.core.preemption.bundles import Bundles
from firmament.core.preemption.problem import LOWEST_WEIGHT
from firmament.core.shortest_paths import ArcBlock, shorten
from firmament.solvers.base import Solver

LARGEST_TOTAL = 2**61
"""Costs stay below this over the number of nodes, so that the solver's sums stay within 64 bits."""


def choose_bundles(
    offered: Mapping[int, Bundles],
    tasks: Mapping[int, int],
    machines: int,
    solver: Solver,
    time_limit: float | None,
    spare: int,
) -> list[tuple[int, int]]:
    """Return (class, place in its ``Bundles``) of the bundles that the cheapest flow carries, the cheapest
    first.

    As many tasks as possible get a machine. Among such choices the sum of ``over`` is least; then the fewest bundles
    have the highest ``top``, then the fewest the next one, and so on; then the sums of ``total`` and ``count`` are
    least. ``tasks``: how many of each class wait; ``machines``: M. Raises what the solver raises.
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
    """Return places of the ``want`` cheapest bundles; of equals those on machines from row ``begin`` on come
    first.
    """
    first = _foremost(bundles, want)
    turned = (bundles.rows[first] - begin) % max(1, machines)
    order = np.lexsort((turned, *(key[first] for key in reversed(bundles.keys()))))
    return first[order[:want]]


def _foremost(bundles: Bundles, want: int) -> Int64:
    """Return places among which the ``want`` cheapest bundles are, by their first figures: less is left to be
    sorted.
    """
    allowed = np.flatnonzero(bundles.over == 0)
    if len(allowed) <= want:
        return np.arange(len(bundles.rows))
    top = bundles.top[allowed]
    return allowed[top <= np.partition(top, want)[want]]


def _figures(keys: Sequence[Int64], moved: int) -> list[Int64]:
    """Return int64[A] each: what is minimised, the most telling first; what counts are sums over ``moved``
    bundles.
    """
    over, top, total, count, age = keys
    tops = np.unique(top)[:0:-1]
    priorities = total - count * LOWEST_WEIGHT
    sums = [total, count]
    if int(np.ptp(priorities)) * moved < LOWEST_WEIGHT:  # smaller numbers, which order like the totals
        sums = [count, priorities]
    started = np.unique(age, return_inverse=True)[1]
    return [over, *((top == each).astype(np.int64) for each in tops), *sums, started]


class _Network:
    """Arcs from classes to machines (A of them), from classes to the sink and from machines to the sink.

    Phase by phase arcs are taken out whose flow no optimum of the figures so far leaves open.
    """

    def __init__(self, cls_of: Int64, machine: Int64, tasks: Mapping[int, int]) -> None:
        classes, tail = np.unique(cls_of, return_inverse=True)
        machines, head = np.unique(machine, return_inverse=True)
        first, sink = len(classes), len(classes) + len(machines)
        waiting = np.array([tasks[cls] for cls in classes.tolist()], dtype=np.int64)
        self._arcs = len(tail)
        self.moved = int(min(waiting.sum(), len(machines)))
        """How many bundles can be taken at most."""
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
        """Return int64[A]: the flow of bundles, as many as can be, whose sums of figures are least one after
        another.
        """
        others = np.zeros(len(self._tails) - self._arcs, dtype=np.int64)
        left = [self._unplaced, *(np.concatenate([figure, others]) for figure in figures)]
        while left:
            cost, left = self._pack(left)
            flows = self._solve(cost, solver, time_limit)
            if left and cost.any():
                self._narrow(cost, flows)
        return self._flows[: self._arcs]

    def _pack(self, figures: list[Int64]) -> tuple[Int64, list[Int64]]:
        """Return one cost per active arc for as many of the first figures as fit; and the figures that are
        left.
        """
        largest = LARGEST_TOTAL // (len(self._supplies) + 2)
        bundle = self._active < self._arcs
        cost = np.zeros(len(self._active), dtype=np.int64)
        most = 0
        for number, figure in enumerate(figures):
            column = figure[self._active]
            if bundle.any():  # the same for all, as the number of bundles is settled first
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
        """Return the flow of the active arcs at a cost, which is noted as well."""
        arcs = self._active
        problem = join_arcs(
            self._supplies, Arcs(self._tails[arcs], self._heads[arcs], self._capacities[arcs], cost)
        )
        flows = solver.solve(problem, time_limit=time_limit).flows
        self._flows[arcs] = flows
        return flows

    def _narrow(self, cost: Int64, flows: Int64) -> None:
        """Keep the arcs of which optimal flows may carry more or less."""
        arcs = self._active
        tails, heads, capacities = self._tails[arcs], self._heads[arcs], self._capacities[arcs]
        price = _prices(len(self._supplies), tails, heads, capacities, cost, flows)
        reduced = cost + price[tails] - price[heads]
        full = reduced < 0
        np.subtract.at(self._supplies, tails[full], capacities[full])
        np.add.at(self._supplies, heads[full], capacities[full])
        self._active = arcs[reduced == 0]


def _prices(nodes: int, tails: Int64, heads: Int64, capacities: Int64, cost: Int64, flows: Int64) -> Int64:
    """Return int64[N]: node prices that prove a flow optimal: shortest paths over the arcs that can carry
    more or less.

    Ends, as an optimal flow leaves no cycle of negative cost; paths pass each class once, so there are few rounds.
    """
    more, less = flows < capacities, flows > 0
    begin = np.concatenate([tails[more], heads[less]])
    end = np.concatenate([heads[more], tails[less]])
    length = np.concatenate([cost[more], -cost[less]])
    price = np.zeros(nodes, dtype=np.int64)
    shorten(price, [ArcBlock.sort_by_end(end, begin, length, nodes)], nodes)
    return price
