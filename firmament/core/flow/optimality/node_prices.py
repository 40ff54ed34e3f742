"""Computes node prices of an optimal flow: the cost of one more unit of flow at a node.

Prices are valid if no arc with spare capacity has a negative reduced cost, cost + price(head) - price(tail). An
optimal flow has many valid sets of prices, between two extremes in the residual network. One extreme is the distance
from the node to the sink, the other is minus the distance from the sink to the node. The middle of the two extremes
is valid as well, and arcs outside the network contradict it much less often. Column generation therefore uses prices
in the middle between the two extremes.

Sweeps find the shortest paths (`firmament.core.flow.shortest_paths`): each sweep relaxes all arcs at classes, then
all arcs at machines. No negative cycle exists, because the flow is optimal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.network.network import Network
from firmament.core.flow.problem import WAIT_BUCKETS
from firmament.core.flow.shortest_paths import ArcBlock
from firmament.core.ranks import order_of

UNREACHABLE = np.int64(2**59)
"""Price of a machine that has no capacity left and carries no flow."""

MOST_SWEEPS = 1000
"""Limit on sweeps. Paths alternate between classes and machines; real paths have a few dozen arcs at most."""


class NotOptimalError(ValueError):
    """Signals that another flow in the same network costs less than the given one."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a network's nodes: ``cls``: int64[C'], ``machine``: int64[M'].

    Prices are in half units, so that the middle of two whole prices is exact: reduced costs are 2 x cost + head - tail.
    """

    cls: Int64
    machine: Int64


def node_prices(network: Network, flows: Int64) -> Prices:
    """Return prices for an optimal flow, in the middle of the valid range.

    Raises ``NotOptimalError`` if no prices are valid.
    """
    residual = _Residual(network, flows)
    high_class, high_machine = residual.compute_to_sink()
    low_class, low_machine = residual.compute_from_sink()
    # The price of an unused machine has no lower bound; its highest valid price makes it least attractive.
    machine = high_machine + np.where(residual.used_machine, low_machine, high_machine)
    return Prices(cls=high_class + low_class, machine=machine)


def least_class_prices(network: Network, flows: Int64) -> Int64:
    """Return by how much the cost of the flow falls if one task fewer of each class waits: int64[C'], in whole units.

    Raises ``NotOptimalError`` if the flow is not optimal.
    """
    residual = _Residual(network, flows)
    residual.compute_to_sink()  # raises if there are no prices
    return residual.compute_from_sink()[0]


class _Residual:
    """The residual network of a flow, arranged for sweeps.

    ``column_class``, ``column_machine``: int64[A]; ``forward``: int64[A], cost of columns with spare capacity,
    otherwise ``UNREACHABLE``; ``carrying``: indices of columns with flow, ordered by class; ``by_machine``: these
    indices ordered by machine. ``leave``: int64[C'], cost of leaving one more task pending; ``stay``: int64[C'], cost
    of the dearest pending task, -``UNREACHABLE`` if no task is pending. ``next_step``, ``last_step``: int64[M'], cost
    of the next step with spare capacity, and of the last step that carries flow.
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
        # If all tasks of a class stay pending, no path to the sink bounds the price of the class from above. The
        # price of the class is then the least that the arcs with flow allow: what placing one of its tasks would
        # save.
        whole = flows[aggregation] >= arcs.capacities[aggregation]
        self.leave: Int64 = np.where(whole, self.stay, leave)

        step_cost, step_flow = arcs.costs[steps], flows[steps]
        has_room = step_flow < arcs.capacities[steps]
        self.next_step = _segment_min(np.where(has_room, step_cost, UNREACHABLE), network.step_count)
        self.last_step = -_segment_min(np.where(step_flow > 0, -step_cost, UNREACHABLE), network.step_count)

    def compute_to_sink(self) -> tuple[Int64, Int64]:
        """Return the greatest valid prices of classes and machines: distances to the sink.

        Raises ``NotOptimalError`` if these distances are not valid prices; no valid prices exist in that case.
        """
        back = self.by_machine
        ahead = ArcBlock(self.column_class, self.column_machine, self.forward)
        backward = ArcBlock(self.column_machine[back], self.column_class[back], -self.cost[back])
        cls, machine = self.leave.copy(), self.next_step.copy()
        for _ in range(MOST_SWEEPS):
            ahead.relax(cls, machine)
            shorter = backward.relax(machine, cls)
            # This loop only lowers prices. A price below what the arcs with flow allow means that a cycle through the
            # sink saves cost.
            if (machine < self.last_step).any() or (cls < self.stay).any():
                raise NotOptimalError(
                    "the flow has a cheaper alternative: its residual network has a negative cycle"
                )
            if not shorter:
                return cls, machine
        raise NotOptimalError("prices do not settle: the residual network has a negative cycle")

    def compute_from_sink(self) -> tuple[Int64, Int64]:
        """Return the least valid prices of classes and used machines: minus the distances from the sink."""
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
    """Return the least value of each run of ``counts[i]`` values, at most ``UNREACHABLE``.

    Empty runs get ``UNREACHABLE``.
    """
    result = np.full(len(counts), UNREACHABLE)
    filled = counts > 0
    if len(values):
        starts = (np.cumsum(counts) - counts)[filled]
        result[filled] = np.minimum(np.minimum.reduceat(values, starts), UNREACHABLE)
    return result
