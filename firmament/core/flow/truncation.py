"""Simplifies the first solve with sharp prices: merges or drops crowding steps, and cuts off large costs.

Once prices are known well, most of a machine's steps are decided: steps far below its price will be filled, and steps
far above it will stay empty. Steps that will be filled are merged into one arc, and steps that will stay empty are left
out, which leaves a few steps per machine. The solved flow shows whether both decisions were right. A merged arc that is
not full is unmerged, and a step that was left out is added if it would be cheaper than its machine's price.

A solver that scales costs takes a phase for each factor in the largest cost. Relative to good prices, the costs of
all arcs that matter are small; higher and lower costs are cut off.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.network.network import Network
from firmament.core.flow.price_estimate.equilibrium import PriceEstimate
from firmament.core.flow.residual import Residual
from firmament.core.flow.tuning import TruncationTuning
from firmament.solvers.base import FlowProblem, FlowSolution, Solver


def plan_steps(residual: Residual, estimate: PriceEstimate, tuning: TruncationTuning) -> tuple[Int64, Int64]:
    """Return how many steps each machine gets, and how many of its first steps to merge: int64[M] each.

    Without sharp prices nothing is merged, and machines get more steps than they are expected to use.
    """
    problem = residual.problem
    width = problem.times() * problem.crowd_step()
    load = -(-estimate.load // width)
    if not estimate.sharp:
        return load + load // 4 + 2, np.zeros_like(load)
    height = np.maximum(problem.crowd * problem.crowd_step(), 1)
    above = estimate.price - problem.crowd * (residual.placed // problem.crowd_step() * problem.crowd_step())
    doubt = int(tuning.doubt * estimate.temperature)
    merged = np.clip((above - doubt) // height, 0, load - 1)
    steps = np.maximum((above + int(tuning.ample * estimate.temperature)) // height + 1, merged + 1)
    return np.clip(steps, 1, load + load // 4 + 2), merged


def find_unfilled_machines(network: Network, flows: Int64, merged: Int64) -> Int64:
    """Return machines (rows) whose ``merged`` steps the flow does not fill."""
    steps = network.blocks[3]
    first = np.flatnonzero(np.r_[True, network.step_machine[1:] != network.step_machine[:-1]])
    short = first[(flows[steps] < network.problem.capacities[steps])[first]]
    machines = network.machines[network.step_machine[short]]
    return machines[merged[machines] > 1]


@dataclass(frozen=True, slots=True)
class CutOptimum:
    """An optimal flow of a network at its true costs, or at costs that are limited on both sides (cut off).

    ``solution``: the flow; ``cut``: the network at the cut-off costs, if the flow may not be optimal at the true costs;
    None if it is optimal.
    """

    solution: FlowSolution
    cut: Network | None


def solve_at_truncated_costs(
    network: Network,
    estimate: PriceEstimate,
    solver: Solver,
    time_limit: float | None,
    tuning: TruncationTuning,
) -> CutOptimum:
    """Solve with costs relative to the expected prices, limited on both sides to some number of temperatures.

    A limit from above never makes an arc dearer, and a limit from below never makes one cheaper. Take a flow that is
    optimal at the limited costs. A flow that is optimal at limited costs is also optimal at the true costs if it
    leaves arcs limited from above empty and fills arcs limited from below. Errors of the solver are raised.
    """
    arcs = network.problem
    if not estimate.sharp or len(arcs.tails) < tuning.small:
        return CutOptimum(solver.solve(arcs, time_limit=time_limit), cut=None)
    price = _node_prices(network, estimate)
    relative = arcs.costs + price[arcs.heads] - price[arcs.tails]
    limit = max(1, int(tuning.cut_off * estimate.temperature))
    costs = np.clip(relative, -limit, limit)
    cut = FlowProblem(arcs.tails, arcs.heads, arcs.capacities, costs, arcs.supplies, stated=arcs)
    found = solver.solve(cut, time_limit=time_limit)
    decided = np.where(relative > limit, found.flows == 0, found.flows == arcs.capacities)
    if decided[np.abs(relative) > limit].all():
        return CutOptimum(found, cut=None)
    return CutOptimum(found, cut=replace(network, problem=replace(arcs, costs=arcs.costs + costs - relative)))


def _node_prices(network: Network, estimate: PriceEstimate) -> Int64:
    """Return the expected prices of all nodes: int64[N]; a class's price is that of its cheapest column."""
    columns, classes = network.blocks[0], len(network.classes)
    machine = estimate.price[network.machines]
    through = network.problem.costs[columns] + machine[network.column_machine]
    cls = np.zeros(classes, dtype=np.int64)
    first = np.flatnonzero(np.r_[True, network.column_class[1:] != network.column_class[:-1]])
    cls[network.column_class[first]] = np.minimum.reduceat(through, first)
    return np.concatenate([cls, cls, machine, np.zeros(1, dtype=np.int64)])
