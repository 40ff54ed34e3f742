"""Carries an optimal flow over to a network with a few more arcs, by a small circulation instead of a new solve.

After the first solve of a round only some arcs are missing, each a little cheaper than the prices say. What must change
runs along cycles of negative total reduced cost; such a cycle contains new arcs, and none of its other residual arcs
can cost more than the new ones save. So only residual arcs with a small reduced cost matter, a fraction of the network,
and the cheapest circulation over those, added to the old flow, is an optimal flow of the new network. Should the margin
have cut off a cycle that combines several new arcs, pricing the result finds out, and the network is solved afresh.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.network.network import Network
from firmament.core.flow.optimality.pricing import FullPrices
from firmament.solvers.base import FlowProblem, FlowSolution, Solver

MARGIN = 1
"""Residual arcs take part up to this many times the largest saving of a new arc."""


def carried_over(old: Network, flows: Int64, new: Network, machines: int) -> Int64:
    """The flow of ``old`` on the arcs of ``new``, which has all its columns and room; ``machines`` is M.

    Steps may be merged in one and not in the other.
    """
    result = np.zeros(len(new.problem.tails), dtype=np.int64)
    old_blocks, new_blocks = old.blocks, new.blocks
    old_key = old.columns.cls * machines + old.columns.machine
    new_key = new.columns.cls * machines + new.columns.machine
    result[np.searchsorted(new_key, old_key)] = flows[old_blocks[0]]
    for block in (1, 2):
        result[new_blocks[block]] = flows[old_blocks[block]]
    # Steps are in order of cost, so what a machine takes fills the first ones, however many of them are merged.
    taken = np.zeros(machines, dtype=np.int64)
    np.add.at(taken, old.machines[old.step_machine], flows[old_blocks[3]])
    capacity = new.problem.capacities[new_blocks[3]]
    before = np.cumsum(capacity) - capacity
    first = np.cumsum(new.step_count) - new.step_count
    before -= np.repeat(before[first[new.step_count > 0]], new.step_count[new.step_count > 0])
    result[new_blocks[3]] = np.clip(taken[new.machines][new.step_machine] - before, 0, capacity)
    return result


def repair(
    network: Network,
    flows: Int64,
    prices: FullPrices,
    solver: Solver,
    time_limit: float | None,
) -> FlowSolution:
    """Improve a feasible flow of ``network`` that was optimal before some arcs were added, at ``prices``."""
    arcs = network.problem
    price = prices.nodes(network)
    reduced = 2 * arcs.costs + price[arcs.heads] - price[arcs.tails]
    open_forward = flows < arcs.capacities
    saving = int(-(reduced[open_forward].min(initial=0)))
    forward = np.flatnonzero(open_forward & (reduced <= MARGIN * saving))
    backward = np.flatnonzero((flows > 0) & (reduced >= -MARGIN * saving))
    solution = solver.solve(
        FlowProblem(
            tails=np.concatenate([arcs.tails[forward], arcs.heads[backward]]),
            heads=np.concatenate([arcs.heads[forward], arcs.tails[backward]]),
            capacities=np.concatenate([(arcs.capacities - flows)[forward], flows[backward]]),
            costs=np.concatenate([reduced[forward], -reduced[backward]]),
            supplies=np.zeros_like(arcs.supplies),
            stated=arcs,
        ),
        time_limit=time_limit,
    )
    changed = flows.copy()
    changed[forward] += solution.flows[: len(forward)]
    changed[backward] -= solution.flows[len(forward) :]
    return FlowSolution(flows=changed, seconds=solution.seconds)
