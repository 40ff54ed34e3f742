"""Smaller networks with the same optimum: machines that cannot matter left out, machines that are alike as one.

*Dominance*: a handful of tasks needs a handful of machines. Let T tasks wait in all. Of the machines that a class may
use, take the T on which a first task of it costs least. If a flow puts a task of the class on any other machine, one of
those T is empty, since at most T - 1 tasks are elsewhere; and there the task costs no more. So some optimal flow uses
these machines alone, whatever the penalties, and the network of all classes' machines has the optimum of the full one.

*Symmetry*: on a fresh cluster ten thousand machines may be identical; then every one of their arcs has the same cost,
the optimum has countless forms, and column generation would wade through ties. Machines with equal room, costs and
rules for every waiting shape, and equal crowding, are merged into a *group*; the k-th task of a group of g machines
costs what the (k // g)-th costs on one of them. By symmetry the merged network has the same optimum. Its flow is dealt
out to the members in turn, so that they fill evenly.

Limits that machines share would spoil either.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cost_models.interface import Bool, Int64, JointRows
from firmament.core.constraints.model_limits import JointRoom
from firmament.core.flow.problem import Assignments, Residual
from firmament.core.flow.tuning import ReductionTuning
from firmament.core.ranks import places_in


@dataclass(frozen=True, slots=True)
class AlikeMachines:
    """``residual``: the merged problem; ``members``: int64[M'], machine rows by group; ``first``: int64[G + 1], where
    each group begins in ``members``; ``fits``: as for the original, over groups.
    """

    residual: Residual
    members: Int64
    first: Int64
    fits: dict[int, Bool]

    def dealt_out(self, merged: Assignments) -> Assignments:
        """Assignments to groups as assignments to machines.

        The tasks of a group go to its members in turn, class after class; no member gets more of a class than another
        by more than one, so what fits the group fits each member.
        """
        order = np.argsort(merged.machine, kind="stable")
        cls = np.repeat(merged.cls[order], merged.count[order])
        group = np.repeat(merged.machine[order], merged.count[order])
        starts = np.searchsorted(group, group, side="left")
        size = self.first[group + 1] - self.first[group]
        machine = self.members[self.first[group] + (np.arange(len(group)) - starts) % size]
        return Assignments.counted(cls, machine)


def narrowed(residual: Residual, fits: dict[int, Bool], tuning: ReductionTuning) -> AlikeMachines | None:
    """The problem over the machines that its tasks need, each of which stands for itself; None if that saves nothing.

    ``fits`` maps each waiting shape to ``residual.fits(shape)``. Problems with ledgers, or with joint rows that
    machines share, and those of more tasks than a handful, are left alone.
    """
    problem = residual.problem
    waiting = int(residual.remaining.sum())
    if not 0 < waiting <= min(tuning.handful, problem.machines // 2) or problem.crowd_step() > 1:
        return None
    if problem.multiplicity is not None or _limits_are_shared(residual):
        return None
    classes = residual.active().tolist()
    rows = _needed(residual, fits, classes, waiting)
    if len(rows) == 0:
        return None
    place = places_in(rows, problem.machines)
    pins = {cls: place[problem.pins[cls]] for cls in classes if cls in problem.pins}
    few = _over(
        residual,
        rows,
        counts=residual.remaining,
        pins={cls: placed[placed >= 0] for cls, placed in pins.items()},
        rotation=int(np.searchsorted(rows, problem.rotation)) % len(rows),
    )
    every = np.arange(len(rows) + 1)
    return AlikeMachines(few, rows, every, {shape: row[rows] for shape, row in fits.items()})


def merge_alike(residual: Residual, fits: dict[int, Bool], tuning: ReductionTuning) -> AlikeMachines | None:
    """Merge machines that are alike for all waiting tasks; None if there are too few of them to bother.

    Machines that a pin names stay by themselves; problems with ledgers, or with joint rows that machines share, are
    left alone. What is left on a machine's own joint rows is part of its room.
    """
    problem = residual.problem
    if _limits_are_shared(residual) or problem.machines == 0:
        return None
    marks = _marks(residual, fits, tuning.worthwhile)
    if marks is None:
        return None
    _, representative, group, size = np.unique(
        marks[:, 0], return_index=True, return_inverse=True, return_counts=True
    )
    if not np.array_equal(marks[representative[group], 1], marks[:, 1]):
        return None  # machines that differ share half a mark: once in a lifetime, and not worth a slower way
    if len(representative) > tuning.worthwhile * problem.machines:
        return None
    merged = _over(
        residual,
        representative,
        multiplicity=size.astype(np.int64),
        pins={cls: np.sort(group[rows]) for cls, rows in problem.pins.items()},
        rotation=0,
    )
    members, first = np.argsort(group, kind="stable"), np.r_[0, np.cumsum(size)]
    return AlikeMachines(merged, members, first, {shape: row[representative] for shape, row in fits.items()})


def _limits_are_shared(residual: Residual) -> bool:
    """Whether tasks on different machines may take room from each other."""
    return bool(residual.ledgers) or any(rows.shared for rows in residual.problem.joint)


def _over(residual: Residual, rows: Int64, **changes: Any) -> Residual:
    """What is left, over some machines alone (int64[G], rows), of a problem with some ``changes``."""
    problem = residual.problem
    derived = replace(
        problem,
        feasible=problem.feasible[:, rows],
        cost=problem.cost[:, rows],
        crowd=problem.crowd[rows],
        free=problem.free[rows],
        joint=tuple(_own_rows(joint, rows) for joint in residual.joint),
        **changes,
    )
    few = Residual(derived)
    few.remaining = residual.remaining
    few.free = np.ascontiguousarray(residual.free[:, rows])
    few.placed = residual.placed[rows]
    return few


def _own_rows(joint: JointRoom, machines: Int64) -> JointRows:
    """The joint rows of some machines, each its own, with what is left of them."""
    limit = joint.per_machine(-1)[machines]
    every = np.arange(len(machines), dtype=np.int64)
    return replace(joint.rows, row_of=np.where(limit >= 0, every, -1), limit=np.maximum(limit, 0))


def _needed(residual: Residual, fits: dict[int, Bool], classes: list[int], most: int) -> Int64:
    """Rows of the ``most`` cheapest machines of each class, ascending. Those that tie at the end are taken in turn."""
    problem = residual.problem
    before = problem.crowd * residual.placed  # what the next task pays for those of earlier passes
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


def _marks(residual: Residual, fits: dict[int, Bool], worthwhile: float) -> Int64 | None:
    """int64[M, 2]: equal only for machines that are alike (but for a hash collision of 2 x 63 bits).

    None if the cheap half, room and crowding, already tells apart more than the share ``worthwhile`` of them.
    """
    problem = residual.problem
    random = np.random.default_rng(2_718_281_828)
    own = [joint.per_machine(-1) for joint in residual.joint]
    marks = _hashed(np.vstack([residual.free, residual.placed, problem.crowd, *own]), random)
    room = np.sort(marks[:, 0])
    if 1 + np.count_nonzero(room[1:] != room[:-1]) > worthwhile * problem.machines:
        return None
    for shape, row in fits.items():
        marks += _hashed(np.where(row, problem.cost[shape], -1)[None, :], random)
    pinned = np.unique(np.concatenate([*problem.pins.values(), np.empty(0, dtype=np.int64)]))
    marks[pinned] += _hashed(pinned[None, :] + 1, random)
    return marks


def _hashed(rows: Int64, random: np.random.Generator) -> Int64:
    """int64[M, 2]: random linear combinations, modulo 2**64, of ``rows`` (int[R, M])."""
    factors = random.integers(1, 2**62, size=(2, len(rows)), dtype=np.int64) | 1
    return np.stack([(factor[:, None] * rows).sum(axis=0) for factor in factors], axis=1)
