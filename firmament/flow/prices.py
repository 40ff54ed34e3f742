"""Node prices of an optimal flow: what one more unit at a node would cost.

The price of a node is the length of the shortest path from it to the sink in the residual network; no negative cycle
exists there, because the flow is optimal. Found by Bellman-Ford over whole blocks of arcs: a sweep relaxes all arcs
from classes, then all from machines.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.flow.network import Network
from firmament.flow.problem import WAIT_BUCKETS

UNREACHABLE = np.int64(2**61)
"""Price of a machine that has no room left and carries nothing."""


@dataclass(frozen=True, slots=True)
class Prices:
    """``cls``: int64[C'] over the network's classes; ``machine``: int64[M'] over its machines; in cost units."""

    cls: Int64
    machine: Int64


def node_prices(network: Network, flows: Int64) -> Prices:
    """Prices for an optimal flow; raises ``ValueError`` if the flow is not optimal for the network."""
    columns, aggregation, unscheduled, steps = network.blocks
    arcs = network.problem
    n_classes, n_machines = len(network.classes), len(network.machines)

    open_steps = flows[steps] < arcs.capacities[steps]
    to_sink = _segment_min(np.where(open_steps, arcs.costs[steps], UNREACHABLE), network.step_count)
    open_waits = (flows[unscheduled] < arcs.capacities[unscheduled]).reshape(n_classes, WAIT_BUCKETS)
    penalty = arcs.costs[unscheduled].reshape(n_classes, WAIT_BUCKETS)
    leave = np.where(open_waits, penalty, UNREACHABLE).min(axis=1, initial=UNREACHABLE)
    leave[flows[aggregation] >= arcs.capacities[aggregation]] = UNREACHABLE

    open_columns = flows[columns] < arcs.capacities[columns]
    forward = np.where(open_columns, arcs.costs[columns], UNREACHABLE)
    per_class = np.bincount(network.column_class, minlength=n_classes)
    carrying = np.flatnonzero(flows[columns] > 0)
    carrying = carrying[np.argsort(network.column_machine[carrying], kind="stable")]
    back_machine = network.column_machine[carrying]
    back_class = network.column_class[carrying]
    back_cost = arcs.costs[columns][carrying]
    per_machine = np.bincount(back_machine, minlength=n_machines)
    leave = np.minimum(leave, _relief(network, flows, penalty))

    machine = to_sink
    for _ in range(n_classes + n_machines + 1):
        cls = np.minimum(leave, _segment_min(forward + machine[network.column_machine], per_class))
        relaxed = np.minimum(to_sink, _segment_min(cls[back_class] - back_cost, per_machine))
        if np.array_equal(relaxed, machine):
            return Prices(cls=cls, machine=np.minimum(machine, UNREACHABLE))
        machine = relaxed
    raise ValueError("the flow is not optimal: its residual network has a negative cycle")


def _relief(network: Network, flows: Int64, penalty: Int64) -> Int64:
    """For classes that stay pending as a whole: the dearest penalty that they pay (else ``UNREACHABLE``).

    Such a class has no open arc, so no path to the sink bounds its price from above; the least price that the arcs
    in use allow is what placing one of its tasks would save.
    """
    _, aggregation, unscheduled, _ = network.blocks
    whole = flows[aggregation] >= network.problem.capacities[aggregation]
    used = (flows[unscheduled] > 0).reshape(penalty.shape)
    return np.where(whole, np.where(used, penalty, 0).max(axis=1, initial=0), UNREACHABLE)


def _segment_min(values: Int64, counts: Int64) -> Int64:
    """Least value of each run of ``counts[i]`` values; ``UNREACHABLE`` for empty runs."""
    result = np.full(len(counts), UNREACHABLE)
    filled = counts > 0
    if len(values):
        starts = (np.cumsum(counts) - counts)[filled]
        result[filled] = np.minimum(np.minimum.reduceat(values, starts), UNREACHABLE)
    return result
