"""Tells what refused a round's classes, which capacity is left for waiting tasks, and what that capacity is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.filters.root_causes import make_root_causes
from firmament.core.flow.optimality.node_prices import NotOptimalError, least_class_prices
from firmament.core.flow.problem import COST_UNITS_PER_POINT, Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.reasons import Cause, StatedReason
from firmament.core.rounds import Placement
from firmament.core.rules.framework.node_rule import MachineRefusal
from firmament.core.rules.node_resources import find_refusals_by_resource

MOST_SHAPES = 300
"""Most shapes that are examined, those with most tasks; each takes some passes over all machines."""

BY_RULES = "node(s) were refused by rules or cost models"
"""Reason for refusals in saved rounds that contain only the problem, where nothing else is known."""

_MOST_ROOM = 2**31 - 1


class ShapeGate(NamedTuple):
    """How many machines refuse a shape, by reason, and how many could take one of its tasks."""

    refusals: tuple[tuple[str, int], ...]
    open: int


def find_gates(
    problem: PlacementProblem,
    resources: Sequence[str],
    static: Callable[[int], list[MachineRefusal]] | None = None,
) -> dict[int, ShapeGate]:
    """Return how many machines refuse each shape, and how many are open, for the shapes with most tasks.

    ``static`` returns where a shape is refused for reasons other than a lack of capacity; if it is None, all of these
    refusals count as one reason.
    """
    refusals = static or (
        lambda shape: [MachineRefusal(Cause(StatedReason(BY_RULES)), ~problem.feasible[shape])]
    )
    found = {}
    for shape in largest_shapes(problem, problem.counts).tolist():
        causes = make_root_causes(
            problem.machines,
            [*refusals(shape), *find_refusals_by_resource(problem.free, problem.requests[shape], resources)],
        )
        open_now = ~causes.find_refused() & problem.feasible[shape]
        found[shape] = ShapeGate(tuple(causes.counts()), int(open_now.sum()))
    return found


def limit_to_capacity(problem: PlacementProblem, capacity: Int64) -> PlacementProblem:
    """Return ``problem`` without the pairs of a shape and a machine that is too small for the shape even when empty.

    A further place on such a machine therefore has no value for tasks of this shape. ``capacity``: int64[M, K], total
    capacity of the machines.
    """
    feasible = problem.feasible.copy()
    for column, amounts in enumerate(problem.requests.T):
        feasible &= np.less_equal.outer(amounts, capacity[:, column]) | (amounts == 0)[:, None]
    return replace(problem, feasible=feasible)


def find_saturated(problem: PlacementProblem, placed: Assignments) -> tuple[Bool, Int64]:
    """Return which machines some waiting task may use although no waiting task that may use them fits there: bool[M].

    The function also returns int64[M]: how many more tasks of the round's mean request fit on each machine, by
    resources alone.
    """
    residual = Residual(problem)
    residual.book_assignments(placed)
    wanted, fits = (np.zeros(problem.machines, dtype=np.bool_) for _ in range(2))
    shapes = largest_shapes(problem, residual.remaining).tolist()
    for shape, fitting in residual.find_fitting_by_shape(shapes).items():
        wanted |= problem.feasible[shape]
        fits |= fitting
    counts = problem.counts.sum(axis=1)
    mean = (problem.requests[problem.shape] * counts[:, None]).sum(axis=0) / max(1, int(counts.sum()))
    asked = np.flatnonzero(mean > 0)
    room = np.full(problem.machines, _MOST_ROOM)
    for column in asked.tolist():
        np.minimum(room, (np.maximum(residual.free[column], 0) / mean[column]).astype(np.int64), out=room)
    return wanted & ~fits, room


def largest_shapes(problem: PlacementProblem, counts: Int64) -> Int64:
    """Return the ``MOST_SHAPES`` shapes with most tasks in ``counts`` (int64[C, WAIT_BUCKETS]), most tasks first."""
    tasks = np.bincount(problem.shape, weights=counts.sum(axis=1), minlength=len(problem.requests))
    order = np.argsort(-tasks, kind="stable")[:MOST_SHAPES]
    return order[tasks[order] > 0]


# --- The value of places in a round, by the prices of the round's first flow (see ``node_prices``).
#
# Both figures are derivatives of the flow's cost (Ahuja, Magnanti, Orlin: Network Flows, 9.4). If one task of a class
# fewer waits, the flow's cost falls by the least valid price of the class's node. One more place on a machine saves
# the most that any task which is elsewhere, or waits, gains by moving there.


class PlacePrices(NamedTuple):
    """Savings in points: what the round would cost less with one task fewer, or with one place more.

    ``cls``: float64[C], saving if one task of the class fewer waits, NaN if the flow does not contain the class;
    ``machine``: float64[M], saving by one more place on the machine.
    """

    cls: Float64
    machine: Float64


def place_prices(problem: PlacementProblem, placement: Placement) -> PlacePrices:
    """Return the prices of a round's first flow; NaN and 0 if there was no flow, or if it is not optimal.

    A flow and its prices contain no rules between tasks.
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
    """Return the cost units that one more place on each machine saves: float64[M].

    ``prices``: float64[C], units per task, NaN if unknown.
    """
    best = np.zeros(problem.machines)
    step = problem.crowd_step()
    next_costs = problem.crowd * (placed.count_per_machine(problem.machines) // step * step)
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
