"""Node prices of an optimal flow: what one more unit at a node would cost.

Prices are valid if no arc with room left has a negative reduced cost, cost + price(head) - price(tail). For an optimal
flow there are many valid sets, between two extremes: the length of the shortest path from the node to the sink, and
minus the length of the shortest path from the sink to it, both in the residual network. Prices at the middle are valid
too, and much less often contradicted by arcs that are not part of the network; they are what column generation uses.

Shortest paths are found by sweeps (`firmament.core.shortest_paths`): each relaxes all arcs at classes, then all at
machines. No negative cycle exists, because the flow is optimal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.network.network import Network
from firmament.core.flow.problem import WAIT_BUCKETS
from firmament.core.ranks import order_of
from firmament.core.shortest_paths import ArcBlock

UNREACHABLE = np.int64(2**59)
"""Price of a machine that has no room left and carries nothing."""

MOST_SWEEPS = 1000
"""Paths alternate between classes and machines; real ones have a few dozen arcs at most."""


class NotOptimalError(ValueError):
    """The flow is not an optimum of its network."""


@dataclass(frozen=True, slots=True)
class Prices:
    """``cls``: int64[C'] over the network's classes; ``machine``: int64[M'] over its machines.

    In half units, so that the middle of two whole prices is exact: reduced costs are 2 x cost + head - tail.
    """

    cls: Int64
    machine: Int64


def node_prices(network: Network, flows: Int64) -> Prices:
    """Return middle prices for an optimal flow; raises ``NotOptimalError`` if no valid prices are found."""
    residual = _Residual(network, flows)
    high_class, high_machine = residual.towards_sink()
    low_class, low_machine = residual.compute_from_sink()
    # Nothing bounds the price of an unused machine from below; the dearest valid one attracts least.
    machine = high_machine + np.where(residual.used_machine, low_machine, high_machine)
    return Prices(cls=high_class + low_class, machine=machine)


def least_class_prices(network: Network, flows: Int64) -> Int64:
    """Return int64[C'], in whole units: what the flow would cost less with one task of each class less.

    Raises ``NotOptimalError`` as ``node_prices`` does.
    """
    residual = _Residual(network, flows)
    residual.towards_sink()  # which finds out whether there are prices at all
    return residual.compute_from_sink()[0]


class _Residual:
    """Arcs of the residual network, arranged for sweeps.

    ``column_class``, ``column_machine``: int64[A]; ``forward``: int64[A], cost of columns with room, else unreachable;
    ``carrying``: columns that carry flow, by class (as columns are) and, in ``by_machine``, by machine. ``leave``:
    int64[C'], cost of one more pending task, ``stay``: what the dearest pending one pays (-unreachable: none).
    ``next_step``, ``last_step``: int64[M'], cost of the next step with room, and of the last one used.
    """

    def __init__(self, network: Network, flows: Int64) -> None:
        columns, aggregation, unscheduled, steps = network.blocks
        arcs = network.problem
        n_classes, n_machines = len(network.classes), len(network.machines)
        self.column_class, self.column_machine = network.column_class, network.column_machine
        self.cost = arcs.costs[columns]
        self.forward = np.where(flows[columns] < arcs.capacities[columns], self.cost, UNREACHABLE)
        self.carrying = carrying = np.flatnonzero(flows[columns] > 0)
        self.by_machine = carrying[order_of(network.column_machine[carrying], n_machines)]
        self.used_machine: Bool = np.zeros(n_machines, dtype=np.bool_)
        self.used_machine[network.column_machine[carrying]] = True

        penalty = arcs.costs[unscheduled].reshape(n_classes, WAIT_BUCKETS)
        pending = flows[unscheduled].reshape(penalty.shape)
        room = arcs.capacities[unscheduled].reshape(penalty.shape) > pending
        self.stay = np.where(pending > 0, penalty, -UNREACHABLE).max(axis=1, initial=-UNREACHABLE)
        leave = np.where(room, penalty, UNREACHABLE).min(axis=1, initial=UNREACHABLE)
        # A class that stays pending as a whole has no way to the sink left that could bound its price from above;
        # the least price that the arcs in use allow is what placing one of its tasks would save.
        whole = flows[aggregation] >= arcs.capacities[aggregation]
        self.leave: Int64 = np.where(whole, self.stay, leave)

        step_cost, step_flow = arcs.costs[steps], flows[steps]
        has_room = step_flow < arcs.capacities[steps]
        self.next_step = _segment_min(np.where(has_room, step_cost, UNREACHABLE), network.step_count)
        self.last_step = -_segment_min(np.where(step_flow > 0, -step_cost, UNREACHABLE), network.step_count)

    def towards_sink(self) -> tuple[Int64, Int64]:
        """Return the greatest valid prices: shortest paths to the sink, for classes and machines.

        Raises ``NotOptimalError`` if they are not valid; then no prices are.
        """
        back = self.by_machine
        ahead = ArcBlock(self.column_class, self.column_machine, self.forward)
        backward = ArcBlock(self.column_machine[back], self.column_class[back], -self.cost[back])
        cls, machine = self.leave.copy(), self.next_step.copy()
        for _ in range(MOST_SWEEPS):
            ahead.relax(cls, machine)
            shorter = backward.relax(machine, cls)
            # Prices only fall here. Once below what the arcs in use allow, a cycle through the sink saves cost.
            if (machine < self.last_step).any() or (cls < self.stay).any():
                raise NotOptimalError(
                    "the flow has a cheaper alternative: its residual network has a negative cycle"
                )
            if not shorter:
                return cls, machine
        raise NotOptimalError("prices do not settle: the residual network has a negative cycle")

    def compute_from_sink(self) -> tuple[Int64, Int64]:
        """Return the least valid prices: minus the shortest paths from the sink, for classes and (used)
        machines.
        """
        order = order_of(self.column_machine, len(self.next_step))
        ahead = ArcBlock(self.column_machine[order], self.column_class[order], self.forward[order])
        back = self.carrying
        backward = ArcBlock(self.column_class[back], self.column_machine[back], -self.cost[back])
        cls, machine = -self.stay, -self.last_step
        for _ in range(MOST_SWEEPS):
            backward.relax(cls, machine)
            if not ahead.relax(machine, cls):
                return -cls, -machine
        raise NotOptimalError("prices do not settle: the residual network has a negative cycle")


def _segment_min(values: Int64, counts: Int64) -> Int64:
    """Return least value of each run of ``counts[i]`` values; ``UNREACHABLE`` for empty runs, and at most
    that.
    """
    result = np.full(len(counts), UNREACHABLE)
    filled = counts > 0
    if len(values):
        starts = (np.cumsum(counts) - counts)[filled]
        result[filled] = np.minimum(np.minimum.reduceat(values, starts), UNREACHABLE)
    return result
