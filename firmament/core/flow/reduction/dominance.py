"""A handful of tasks needs a handful of machines: the others cannot be part of any better flow.

Let T tasks wait in all. Of the machines that a class may use, take the T on which a first task of it costs least. If
a flow puts a task of the class on any other machine, one of those T is empty, since at most T - 1 tasks are elsewhere;
and there the task costs no more. So some optimal flow uses these machines alone, whatever the penalties, and the
network of all classes' machines has the optimum of the full one. Limits that machines share would spoil the exchange.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.problem import Residual
from firmament.core.flow.reduction.symmetry import AlikeMachines, is_shared, joint_of
from firmament.core.flow.tuning import ReductionTuning


def narrowed(residual: Residual, fits: dict[int, Bool], tuning: ReductionTuning) -> AlikeMachines | None:
    """The problem over the machines that its tasks need, each of which stands for itself; None if that saves nothing.

    ``fits`` maps each waiting shape to ``residual.fits(shape)``. Problems with ledgers, or with joint rows that
    machines share, and those of more tasks than a handful, are left alone.
    """
    problem = residual.problem
    waiting = int(residual.remaining.sum())
    if (
        not 0 < waiting <= min(tuning.handful, problem.machines // 2)
        or problem.crowd_step() > 1
        or problem.ledgers
    ):
        return None
    if problem.multiplicity is not None or any(is_shared(rows) for rows in problem.joint):
        return None
    classes = residual.active().tolist()
    rows = _needed(residual, fits, classes, waiting)
    if len(rows) == 0:
        return None
    place = np.full(problem.machines, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    pins = {cls: place[problem.pins[cls]] for cls in classes if cls in problem.pins}
    few = Residual(
        replace(
            problem,
            counts=residual.remaining,
            feasible=problem.feasible[:, rows],
            cost=problem.cost[:, rows],
            crowd=problem.crowd[rows],
            free=problem.free[rows],
            joint=tuple(
                joint_of(joint, left, rows)
                for joint, left in zip(problem.joint, residual.joint_left, strict=True)
            ),
            pins={cls: placed[placed >= 0] for cls, placed in pins.items()},
            rotation=int(np.searchsorted(rows, problem.rotation)) % len(rows),
        )
    )
    few.free = np.ascontiguousarray(residual.free[:, rows])
    few.placed = residual.placed[rows]
    return AlikeMachines(
        residual=few,
        members=rows,
        first=np.arange(len(rows) + 1),
        fits={shape: row[rows] for shape, row in fits.items()},
    )


def _needed(residual: Residual, fits: dict[int, Bool], classes: list[int], most: int) -> Int64:
    """Rows of the ``most`` cheapest machines of each class, ascending. Those that tie at the end are taken in turn."""
    problem = residual.problem
    before = (
        problem.crowd * residual.placed
    )  # what the next task on each machine pays for those of earlier passes
    turn = problem.rotation
    found = []
    keys: dict[int, tuple[Int64, Int64]] = {}
    for cls in classes:
        shape = int(problem.shape[cls])
        if cls in problem.pins:
            pinned = problem.pins[cls]
            rows = pinned[fits[shape][pinned]]
            key = problem.cost[shape, rows] + before[rows]
        else:
            if shape not in keys:
                rows = np.flatnonzero(fits[shape])
                keys[shape] = rows, problem.cost[shape, rows] + before[rows]
            rows, key = keys[shape]
        if len(rows) > most:
            limit = np.partition(key, most - 1)[most - 1]
            below, tied = rows[key < limit], rows[key == limit]
            tied = tied.take(np.searchsorted(tied, turn) + np.arange(most - len(below)), mode="wrap")
            turn = int(tied[-1]) + 1
            rows = np.concatenate([below, tied])
        found.append(rows)
    return np.unique(np.concatenate(found))
