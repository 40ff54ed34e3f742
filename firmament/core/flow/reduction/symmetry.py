"""Machines that nothing can tell apart enter the network as one node with many places.

On a fresh cluster ten thousand machines may be identical; then every one of their arcs has the same cost, the optimum
has countless forms, and column generation would wade through ties. Machines with equal room, costs and rules for every
waiting shape, and equal crowding, are merged into a *group*; the k-th task of a group of g machines costs what the
(k // g)-th costs on one of them. By symmetry the merged network has the same optimum. Its flow is dealt out to the
members in turn, so that they fill evenly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Bool, Int64, JointRows
from firmament.core.flow.problem import Assignments, Residual
from firmament.core.flow.tuning import ReductionTuning


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
        width = 1 + int(self.members.max(initial=0))
        distinct, count = np.unique(cls * width + machine, return_counts=True)
        classes, machines = np.divmod(distinct, width)
        return Assignments(classes, machines, count.astype(np.int64))


def merge_alike(residual: Residual, fits: dict[int, Bool], tuning: ReductionTuning) -> AlikeMachines | None:
    """Merge machines that are alike for all waiting tasks; None if there are too few of them to bother.

    Machines that a pin names stay by themselves; problems with ledgers, or with joint rows that machines share, are
    left alone. What is left on a machine's own joint rows is part of its room.
    """
    problem = residual.problem
    shared = any(is_shared(rows) for rows in problem.joint)
    if shared or problem.ledgers or problem.machines == 0:
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
    merged_problem = replace(
        problem,
        feasible=problem.feasible[:, representative],
        cost=problem.cost[:, representative],
        crowd=problem.crowd[representative],
        free=problem.free[representative],
        multiplicity=size.astype(np.int64),
        joint=tuple(
            joint_of(rows, left, representative)
            for rows, left in zip(problem.joint, residual.joint_left, strict=True)
        ),
        pins={cls: np.sort(group[rows]) for cls, rows in problem.pins.items()},
        rotation=0,
    )
    merged = Residual(merged_problem)
    merged.remaining = residual.remaining
    merged.free = np.ascontiguousarray(residual.free[:, representative])
    merged.placed = residual.placed[representative]
    members = np.argsort(group, kind="stable")
    return AlikeMachines(
        residual=merged,
        members=members,
        first=np.r_[0, np.cumsum(size)],
        fits={shape: row[representative] for shape, row in fits.items()},
    )


def is_shared(rows: JointRows) -> bool:
    """Whether some row is of more than one machine."""
    owned = rows.row_of[rows.row_of >= 0]
    return bool((np.bincount(owned) > 1).any())


def left_on_own(rows: JointRows, left: Int64) -> Int64:
    """int64[M]: what is left on each machine's own row, -1 where it has none."""
    found = np.full(len(rows.row_of), -1, dtype=np.int64)
    on_row = rows.row_of >= 0
    found[on_row] = left[rows.row_of[on_row]]
    return found


def joint_of(rows: JointRows, left: Int64, representative: Int64) -> JointRows:
    """The joint rows of some machines (``representative``: int64[G] rows), each its own, with what is left of them."""
    limit = left_on_own(rows, left)[representative]
    every = np.arange(len(representative), dtype=np.int64)
    return replace(rows, row_of=np.where(limit >= 0, every, -1), limit=np.maximum(limit, 0))


def _marks(residual: Residual, fits: dict[int, Bool], worthwhile: float) -> Int64 | None:
    """int64[M, 2]: equal only for machines that are alike (but for a hash collision of 2 x 63 bits).

    None if the cheap half, room and crowding, already tells apart more than the share ``worthwhile`` of them.
    """
    problem = residual.problem
    random = np.random.default_rng(2_718_281_828)
    own = [left_on_own(rows, left) for rows, left in zip(problem.joint, residual.joint_left, strict=True)]
    cheap = np.vstack([residual.free, residual.placed, problem.crowd, *own])
    marks = _hashed(cheap, random)
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
