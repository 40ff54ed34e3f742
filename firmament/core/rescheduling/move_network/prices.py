"""Prices of machines that an optimal set of moves implies: what one more task there would cost.

They are shortest paths from and to the rest of the world in the residual network, found by Bellman-Ford over all arcs
at once. There is no negative cycle, because the flow is optimal.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.rescheduling.move_network.network import MoveNetwork

FAR = np.int64(2**50)
"""Length of a path that does not exist."""

_MOST_SWEEPS = 2_000


def machine_prices(network: MoveNetwork, flows: Int64) -> tuple[Int64, Int64]:
    """int64[M'] each: the least and the greatest price of each machine of the network; ``FAR`` (or less) for no bound.

    With any prices between the two that are all taken the same way, every arc in use is worth its cost.
    """
    problem = network.flow
    open_, used = flows < problem.capacities, flows > 0
    tails = np.concatenate([problem.tails[open_], problem.heads[used]])
    heads = np.concatenate([problem.heads[open_], problem.tails[used]])
    costs = np.concatenate([problem.costs[open_], -problem.costs[used]])
    nodes = len(problem.supplies)
    first = nodes - 1 - len(network.machines)
    least = -_shortest(tails, heads, costs, nodes, network.rest)[first:-1]
    greatest = _shortest(heads, tails, costs, nodes, network.rest)[first:-1]
    return least, greatest


def _shortest(tails: Int64, heads: Int64, costs: Int64, nodes: int, source: int) -> Int64:
    """int64[N]: length of the shortest path from ``source`` to each node, ``FAR`` if there is none."""
    order = np.argsort(heads, kind="stable")
    tails, heads, costs = tails[order], heads[order], costs[order]
    starts = np.flatnonzero(np.r_[True, heads[1:] != heads[:-1]][: len(heads)])
    reached = heads[starts]
    length = np.full(nodes, FAR)
    length[source] = 0
    for _ in range(_MOST_SWEEPS if len(starts) else 0):
        through = np.minimum.reduceat(length[tails] + costs, starts)
        better = through < length[reached]
        if not better.any():
            break
        length[reached] = np.where(better, through, length[reached])
    return np.where(length > FAR // 2, FAR, length)
