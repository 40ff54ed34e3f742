"""What a place on each machine is worth to the tasks that belong to no group."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.optimality.node_prices import NotOptimalError, Prices, node_prices
from firmament.core.flow.optimality.pricing import full_machine_prices
from firmament.core.flow.outcome import FlowOutcome
from firmament.core.flow.problem import PlacementProblem, Residual
from firmament.core.placement.class_aggregation import bundled
from firmament.core.placement.outcome import Figures, Means
from firmament.core.placement.passes import propose
from firmament.solvers.base import SolverTimeoutError

HIGHEST = 2**40
"""Prices are cut off here, in units, so that the sum over a group's tasks fits 64 bits."""


def machine_prices(problem: PlacementProblem, means: Means) -> tuple[Int64, Figures]:
    """int64[M], units: what the tasks of a problem would pay for one more place on each machine; and what that took.

    From the prices of an optimal flow of all of them: a machine's own, and what the class pays that would most like
    more of it. 0 everywhere if nothing waits, or no optimum is found in time. Raises what the solver raises, time-outs
    excepted.
    """
    nothing = np.zeros(problem.machines, dtype=np.int64)
    residual = Residual(bundled(problem).problem)
    if not residual.remaining.any():
        return nothing, Figures()
    try:
        proposed = propose(residual, means)
    except SolverTimeoutError:
        return nothing, Figures(time_limited=True)
    figures = replace(proposed.figures, passes=0, time_limited=False)
    if proposed.first is None:
        return nothing, figures
    outcome, alike = proposed.first.outcome, proposed.first.alike
    try:
        prices = node_prices(outcome.network, outcome.flows)
    except NotOptimalError:
        return nothing, figures
    worth = full_machine_prices(residual if alike is None else alike.residual, outcome.network, prices)
    worth[outcome.network.machines] += _rents(outcome, prices)
    worth = np.minimum(worth // 2, HIGHEST)
    if alike is None:
        return worth, figures
    nothing[alike.members] = np.repeat(worth, np.diff(alike.first))
    return nothing, figures


def _rents(outcome: FlowOutcome, prices: Prices) -> Int64:
    """int64[M'], half units: what the class that pays most gains by each task more that a machine would take of it."""
    network = outcome.network
    columns, _, _, _ = network.blocks
    full = outcome.flows[columns] >= network.problem.capacities[columns]
    cls, machine = network.column_class[full], network.column_machine[full]
    gained = prices.cls[cls] - 2 * network.problem.costs[columns][full] - prices.machine[machine]
    rents = np.zeros(len(network.machines), dtype=np.int64)
    np.maximum.at(rents, machine, gained)
    return rents
