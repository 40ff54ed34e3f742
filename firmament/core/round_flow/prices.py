"""What places were worth in a round, by the prices of its first flow (see ``node_prices``).

Both figures are derivatives of the flow's cost (Ahuja, Magnanti, Orlin: Network Flows, 9.4): what one task of a class
less would save is the least valid price of its node, and what one more place on a machine saves is the most that a task
which is elsewhere, or waits, gains by moving there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.flow.optimality.node_prices import NotOptimalError, least_class_prices
from firmament.core.flow.problem import COST_UNITS_PER_POINT, Assignments, PlacementProblem
from firmament.core.round_flow.rooms import largest_shapes
from firmament.core.rounds import Placement


class PlacePrices(NamedTuple):
    """Points: float64[C], what a class costs less with one task less, NaN where the flow knows none of it; float64[M],
    what one more place on a machine saves.
    """

    cls: Float64
    machine: Float64


def place_prices(problem: PlacementProblem, placement: Placement) -> PlacePrices:
    """Prices of a round's first flow; NaN and 0 throughout where there was none, or where it is no optimum.

    Rules between tasks are not part of a flow, nor of its prices.
    """
    cls = np.full(problem.classes, np.nan)
    first = placement.first
    if first is None:
        return PlacePrices(cls, np.zeros(problem.machines))
    try:
        found = least_class_prices(first.outcome.solved, first.outcome.carried)
    except NotOptimalError:  # a time limit cut the search off
        return PlacePrices(cls, np.zeros(problem.machines))
    held = first.classes
    for row, price in zip(first.outcome.solved.classes.tolist(), found.tolist(), strict=True):
        cls[[row] if held is None else held[row]] = price
    saved = _savings(problem, placement.assignments, cls)
    return PlacePrices(cls / COST_UNITS_PER_POINT, saved / COST_UNITS_PER_POINT)


def _savings(problem: PlacementProblem, placed: Assignments, prices: Float64) -> Float64:
    """float64[M]: units that one more place saves; ``prices``: float64[C], units that a class costs less with a task
    less, NaN where that is not known.
    """
    best = np.zeros(problem.machines)
    step = problem.crowd_step()
    next_costs = problem.crowd * (placed.per_machine(problem.machines) // step * step)
    by_shape = np.full(len(problem.requests), -np.inf)
    anywhere: Int64 = np.setdiff1d(np.flatnonzero(~np.isnan(prices)), list(problem.pins))
    np.maximum.at(by_shape, problem.shape[anywhere], prices[anywhere])
    for shape in largest_shapes(problem, problem.counts).tolist():
        if np.isfinite(by_shape[shape]):
            gain = by_shape[shape] - problem.cost[shape] - next_costs
            np.maximum(best, np.where(problem.feasible[shape], gain, 0), out=best)
    for cls, rows in problem.pins.items():
        shape = int(problem.shape[cls])
        if not np.isnan(prices[cls]):
            gain = prices[cls] - problem.cost[shape, rows] - next_costs[rows]
            best[rows] = np.maximum(best[rows], np.where(problem.feasible[shape, rows], gain, 0))
    return best
