"""What sharp prices save the first solve: steps that are surely filled or surely empty, and large costs.

Once prices are known well, most of a machine's steps are decided: the ones far below its price will be filled, the
ones far above it will not. The former are merged to one arc, the latter left out, which leaves a few steps per
machine. Both are held against the solved flow: a merged arc that is not full is unfolded, a step that was left out
and would be cheaper than its machine's price is added.

Cost scaling takes a phase for each factor in the largest cost. Costs relative to good prices are small for all arcs
that matter; the others are cut off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.network.network import Network
from firmament.core.flow.price_estimate.equilibrium import Spread
from firmament.core.flow.residual import Residual
from firmament.core.flow.tuning import TruncationTuning
from firmament.solvers.base import FlowProblem, FlowSolution, Solver


def surely_used(residual: Residual, spread: Spread, tuning: TruncationTuning) -> tuple[Int64, Int64]:
    """Return steps to give to each machine, and how many first ones of these to merge: int64[M] each.

    Without sharp prices nothing is merged, and machines get more steps than are expected to be used.
    """
    problem = residual.problem
    width = problem.times() * problem.crowd_step()
    load = -(-spread.load // width)
    if not spread.sharp:
        return load + load // 4 + 2, np.zeros_like(load)
    height = np.maximum(problem.crowd * problem.crowd_step(), 1)
    above = spread.price - problem.crowd * (residual.placed // problem.crowd_step() * problem.crowd_step())
    doubt = int(tuning.doubt * spread.temperature)
    merged = np.clip((above - doubt) // height, 0, load - 1)
    steps = np.maximum((above + int(tuning.ample * spread.temperature)) // height + 1, merged + 1)
    return np.clip(steps, 1, load + load // 4 + 2), merged


def find_unfilled_machines(network: Network, flows: Int64, merged: Int64) -> Int64:
    """Return machines (rows) with ``merged`` steps that the flow does not fill."""
    steps = network.blocks[3]
    first = np.flatnonzero(np.r_[True, network.step_machine[1:] != network.step_machine[:-1]])
    short = first[(flows[steps] < network.problem.capacities[steps])[first]]
    machines = network.machines[network.step_machine[short]]
    return machines[merged[machines] > 1]


@dataclass(frozen=True, slots=True)
class CutOptimum:
    """An optimal flow of a network at costs that may be cut off.

    ``cut``: the network with those costs, if the flow may be no optimum at the true ones; None: it is one.
    """

    solution: FlowSolution
    cut: Network | None


def solve_near(
    network: Network, spread: Spread, solver: Solver, time_limit: float | None, tuning: TruncationTuning
) -> CutOptimum:
    """Solve with costs relative to the expected prices, cut off on both sides at so many temperatures.

    Cutting a cost off from above makes it no dearer to use the arc, from below no cheaper, so a flow that is optimal
    with such costs, leaves the former arcs empty and fills the latter is optimal with the true ones. Raises what the
    solver raises.
    """
    arcs = network.problem
    if not spread.sharp or len(arcs.tails) < tuning.small:
        return CutOptimum(solver.solve(arcs, time_limit=time_limit), cut=None)
    price = _node_prices(network, spread)
    relative = arcs.costs + price[arcs.heads] - price[arcs.tails]
    limit = max(1, int(tuning.cut_off * spread.temperature))
    costs = np.clip(relative, -limit, limit)
    cut = FlowProblem(arcs.tails, arcs.heads, arcs.capacities, costs, arcs.supplies, stated=arcs)
    found = solver.solve(cut, time_limit=time_limit)
    decided = np.where(relative > limit, found.flows == 0, found.flows == arcs.capacities)
    if decided[np.abs(relative) > limit].all():
        return CutOptimum(found, cut=None)
    return CutOptimum(found, cut=replace(network, problem=replace(arcs, costs=arcs.costs + costs - relative)))


def _node_prices(network: Network, spread: Spread) -> Int64:
    """Return expected prices of all nodes; a class's is that of its cheapest column."""
    columns, classes = network.blocks[0], len(network.classes)
    machine = spread.price[network.machines]
    through = network.problem.costs[columns] + machine[network.column_machine]
    cls = np.zeros(classes, dtype=np.int64)
    first = np.flatnonzero(np.r_[True, network.column_class[1:] != network.column_class[:-1]])
    cls[network.column_class[first]] = np.minimum.reduceat(through, first)
    return np.concatenate([cls, cls, machine, np.zeros(1, dtype=np.int64)])
