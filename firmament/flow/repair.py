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
from firmament.flow.network import Network
from firmament.solvers.base import FlowProblem, FlowSolution, Solver

MARGIN = 1
"""Residual arcs take part up to this many times the largest saving of a new arc."""


def carried_over(old: Network, flows: Int64, new: Network, machines: int) -> Int64:
    """The flow of ``old`` on the arcs of ``new``, which has all arcs of ``old`` and more; ``machines`` is M."""
    result = np.zeros(len(new.problem.tails), dtype=np.int64)
    old_blocks, new_blocks = old.blocks, new.blocks
    old_key = old.columns.cls * machines + old.columns.machine
    new_key = new.columns.cls * machines + new.columns.machine
    result[np.searchsorted(new_key, old_key)] = flows[old_blocks[0]]
    for block in (1, 2):
        result[new_blocks[block]] = flows[old_blocks[block]]
    # Steps of a machine are adjacent and in order, so the first ones of a machine are the same in both.
    new_first = np.cumsum(new.step_count) - new.step_count
    old_first = np.cumsum(old.step_count) - old.step_count
    nth = np.arange(len(old.step_machine)) - old_first[old.step_machine]
    place = np.searchsorted(new.machines, old.machines)
    result[new_blocks[3].start + new_first[place][old.step_machine] + nth] = flows[old_blocks[3]]
    return result


def repair(
    network: Network,
    flows: Int64,
    class_price: Int64,
    machine_price: Int64,
    solver: Solver,
    time_limit: float | None,
) -> FlowSolution:
    """Improve a feasible flow of ``network`` that was optimal before some arcs were added.

    ``class_price``: int64[C'], ``machine_price``: int64[M'], the prices before, in half units. Returns the new flow.
    """
    arcs = network.problem
    price = np.concatenate([class_price, class_price, machine_price, np.zeros(1, dtype=np.int64)])
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
        ),
        time_limit=time_limit,
    )
    changed = flows.copy()
    changed[forward] += solution.flows[: len(forward)]
    changed[backward] -= solution.flows[len(forward) :]
    return FlowSolution(flows=changed, seconds=solution.seconds)
