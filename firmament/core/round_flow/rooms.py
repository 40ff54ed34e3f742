"""What kept a round's classes off machines when it began, and what room is left for those that still wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.filters.root_causes import Cause, MachineRefusal, lacks, root_causes
from firmament.core.flow.problem import Assignments, PlacementProblem, Residual

MOST_SHAPES = 300
"""Shapes that are looked at: those of most tasks. Each takes some passes over all machines."""

BY_RULES = "node(s) were refused by rules or cost models"
"""What is known of rounds of which only the problem has been kept."""

_MOST_ROOM = 2**31 - 1


class ShapeGate(NamedTuple):
    """Machines by the reason that keeps a shape off them, and how many could take one of its tasks."""

    refusals: tuple[tuple[str, int], ...]
    open: int


def gates(
    problem: PlacementProblem,
    resources: Sequence[str],
    static: Callable[[int], list[MachineRefusal]] | None = None,
) -> dict[int, ShapeGate]:
    """What the shapes of most tasks met as the round began; ``static``: what refuses a shape beside room.

    None: that is known as one reason only.
    """
    refusals = static or (lambda shape: [MachineRefusal(Cause(BY_RULES), ~problem.feasible[shape])])
    found = {}
    for shape in largest_shapes(problem, problem.counts).tolist():
        causes = root_causes(
            problem.machines,
            [*refusals(shape), *lacks(problem.free, problem.requests[shape], resources)],
        )
        open_now = ~causes.refused() & problem.feasible[shape]
        found[shape] = ShapeGate(tuple(causes.counts()), int(open_now.sum()))
    return found


def within_capacity(problem: PlacementProblem, capacity: Int64) -> PlacementProblem:
    """The problem in which no machine is for a shape that is larger than it: one more place would not help there.

    ``capacity``: int64[M, K], what machines offer in all.
    """
    feasible = problem.feasible.copy()
    for column, amounts in enumerate(problem.requests.T):
        feasible &= np.less_equal.outer(amounts, capacity[:, column]) | (amounts == 0)[:, None]
    return replace(problem, feasible=feasible)


def saturated(problem: PlacementProblem, placed: Assignments) -> tuple[Bool, Int64]:
    """bool[M]: machines that some task which waits after the round might use and that have no room for any of them.

    int64[M]: how many more tasks of the round's mean request fit there, by resources alone.
    """
    residual = Residual(problem)
    residual.take(placed)
    wanted, fits = (np.zeros(problem.machines, dtype=np.bool_) for _ in range(2))
    shapes = largest_shapes(problem, residual.remaining).tolist()
    for shape, fitting in residual.fits_of(shapes).items():
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
    """Shapes with tasks among ``counts`` (int64[C, WAIT_BUCKETS]), those of most tasks first, at most so many."""
    tasks = np.bincount(problem.shape, weights=counts.sum(axis=1), minlength=len(problem.requests))
    order = np.argsort(-tasks, kind="stable")[:MOST_SHAPES]
    return order[tasks[order] > 0]
