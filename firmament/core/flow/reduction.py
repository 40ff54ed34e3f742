"""Smaller networks with the same optimum: classes that are alike as one, machines that cannot matter left out, machines
that are alike as one.

*Classes* that differ in nothing a network can see, the gang included, enter it as one. Five hundred gangs of one kind
of task are five hundred classes of a round, but one class of its network; so are two thousand applications whose tasks
ask for the same. What the network places of it is dealt out to gangs as wholes, in their order, before other tasks get
any of it; these get it in order of wait, then of class.

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

from dataclasses import dataclass
from typing import Any

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.problem import WAIT_BUCKETS, Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.flow.tuning import ReductionTuning
from firmament.core.ranks import ColumnMarks, places_in, rank

_NONE = np.empty(0, dtype=np.int64)

# --- Classes.


@dataclass(frozen=True, slots=True)
class Bundled:
    """``problem``: the one to be solved, without gangs; ``of``: int64[C], its class for each class of ``whole``."""

    whole: PlacementProblem
    problem: PlacementProblem
    of: Int64

    def dealt_out(self, placed: Assignments) -> Assignments:
        """Return assignments of bundles as assignments of their classes.

        Gangs come in order of priority, then of age, each with what it needs or nothing. What they leave goes to the
        members that gangs with places have beyond their need, and to other tasks, longest waiting first. Places that
        remain then belong to gangs that got none; they are left out.
        """
        if self.problem is self.whole:
            return placed
        left = placed.count_per_class(self.problem.classes)
        share = np.zeros(self.whole.classes, dtype=np.int64)
        served = np.zeros(len(self.whole.gang_need) + 1, dtype=np.bool_)
        served[-1] = True  # what belongs to no gang
        for gang, members in _gangs(self.whole):
            served[gang] = self._serve(members, int(self.whole.gang_need[gang]), share, left)
        gang_of = self.whole.gang if len(self.whole.gang) else np.full(self.whole.classes, -1)
        for bucket in range(WAIT_BUCKETS):
            if self.whole.counts[:, bucket].any():
                waiting = np.maximum(self.whole.counts[:, : bucket + 1].sum(axis=1) - share, 0)
                share += self._in_turn(np.where(served[gang_of], waiting, 0), left)
        return self._hand_over(placed, share)

    def gather(self, placed: Assignments) -> Assignments:
        """Return assignments of classes as assignments of their bundles."""
        return Assignments(self.of[placed.cls], placed.machine, placed.count)

    def _serve(self, members: Int64, need: int, share: Int64, left: Int64) -> bool:
        """Give a gang's classes ``need`` places of their bundles, or none; returns whether it got them."""
        found: list[tuple[int, int]] = []
        for cls in members.tolist():
            count = min(int(self.whole.counts[cls].sum()), int(left[self.of[cls]]), need)
            need -= count
            left[self.of[cls]] -= count
            found.append((cls, count))
        if need > 0:
            for cls, count in found:
                left[self.of[cls]] += count
            return False
        for cls, count in found:
            share[cls] = count
        return True

    def _in_turn(self, waiting: Int64, left: Int64) -> Int64:
        """Hand out what is ``left`` (int64[C'] per bundle, reduced) to ``waiting`` tasks per class, in their order."""
        order = np.argsort(self.of, kind="stable")
        wanted, bundle = waiting[order], self.of[order]
        before = np.cumsum(wanted) - wanted
        first = np.searchsorted(bundle, np.arange(self.problem.classes))
        before -= before[first][bundle]
        given = np.empty_like(waiting)
        given[order] = np.clip(left[bundle] - before, 0, wanted)
        left -= np.bincount(self.of, weights=given, minlength=len(left)).astype(np.int64)
        return given

    def _hand_over(self, placed: Assignments, share: Int64) -> Assignments:
        """Return the first ``share`` (int64[C]) places of each bundle, class after class, by class and
        machine.
        """
        classes = np.argsort(self.of, kind="stable")
        first = classes[np.searchsorted(self.of[classes], np.arange(self.problem.classes))]
        whole = share[first] == placed.count_per_class(
            self.problem.classes
        )  # nothing is left for other classes
        at_once = whole[placed.cls]
        theirs = placed.select(at_once)
        dealt = self._dealt(placed.select(~at_once), np.where(whole[self.of], 0, share), classes)
        pairs = np.append(first[theirs.cls], dealt.cls) * np.int64(self.whole.machines)
        pairs += np.append(theirs.machine, dealt.machine)
        pairs, entry = np.unique(pairs, return_inverse=True)
        count = np.bincount(entry, weights=np.append(theirs.count, dealt.count), minlength=len(pairs))
        return Assignments(*np.divmod(pairs, self.whole.machines), count.astype(np.int64))

    def _dealt(self, placed: Assignments, share: Int64, classes: Int64) -> Assignments:
        """Return the same, place by place; ``classes``: int64[C], by bundle.

        A bundle's places come machine by machine in turn: a class gets as many machines as it can.
        """
        tasks = placed.tasks()
        bundle, machine = tasks.cls, tasks.machine
        turn = rank(bundle * np.int64(self.whole.machines) + machine)
        order = np.argsort(bundle * (1 + turn.max(initial=0)) + turn, kind="stable")
        bundle, machine = bundle[order], machine[order]
        cls = np.repeat(classes, share[classes])
        start = np.searchsorted(bundle, np.arange(self.problem.classes))
        begin = np.searchsorted(self.of[cls], np.arange(self.problem.classes))
        place = start[self.of[cls]] + np.arange(len(cls)) - begin[self.of[cls]]
        return Assignments(cls, machine[place], np.ones_like(cls))


def merge_classes(problem: PlacementProblem) -> Bundled:
    """Return the problem with classes as one that have shape, priority and pins in common.

    Rules between tasks, pairs that steer, and ledgers count on who comes first; with such, nothing is bundled.
    """
    if problem.interdependent or problem.irrevocable or problem.most:
        return Bundled(problem, problem, np.arange(problem.classes))
    number: dict[tuple[int, int, bytes | None], int] = {}
    pins: dict[int, Int64] = {}
    of = np.empty(problem.classes, dtype=np.int64)
    for cls, (shape, priority) in enumerate(
        zip(problem.shape.tolist(), problem.priority.tolist(), strict=True)
    ):
        pinned = problem.pins.get(cls)
        of[cls] = number.setdefault(
            (shape, priority, None if pinned is None else pinned.tobytes()), len(number)
        )
        if pinned is not None:
            pins[int(of[cls])] = pinned
    if len(number) == problem.classes and not len(problem.gang):
        return Bundled(problem, problem, of)
    counts = np.zeros((len(number), WAIT_BUCKETS), dtype=np.int64)
    np.add.at(counts, of, problem.counts)
    derived = problem.derive(
        counts=counts,
        priority=np.array([priority for _, priority, _ in number], dtype=np.int64),
        shape=np.array([shape for shape, _, _ in number], dtype=np.int64),
        pins=pins,
        gang=_NONE,
        gang_need=_NONE,
    )
    return Bundled(problem, derived, of)


def _gangs(problem: PlacementProblem) -> list[tuple[int, Int64]]:
    """Return gangs and their classes, the most important first, then by age."""
    members = [np.flatnonzero(problem.gang == gang) for gang in range(len(problem.gang_need))]
    rank = np.array([int(problem.priority[each].max(initial=-1)) for each in members], dtype=np.int64)
    return [(gang, members[gang]) for gang in np.argsort(-rank, kind="stable").tolist()]


# --- Machines.


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
        """Return assignments to groups as assignments to machines.

        The tasks of a group go to its members in turn, class after class; no member gets more of a class than another
        by more than one, so what fits the group fits each member.
        """
        order = np.argsort(merged.machine, kind="stable")
        cls = np.repeat(merged.cls[order], merged.count[order])
        group = np.repeat(merged.machine[order], merged.count[order])
        starts = np.searchsorted(group, group, side="left")
        size = self.first[group + 1] - self.first[group]
        machine = self.members[self.first[group] + (np.arange(len(group)) - starts) % size]
        return Assignments.from_tasks(cls, machine)


def narrow(residual: Residual, fits: dict[int, Bool], tuning: ReductionTuning) -> AlikeMachines | None:
    """Return the problem over the machines that its tasks need, each of which stands for itself; None if that
    saves nothing.

    ``fits`` maps each waiting shape to ``residual.fits(shape)``. Problems with ledgers, or with joint rows that
    machines share, and those of more tasks than a handful, are left alone.
    """
    problem = residual.problem
    waiting = int(residual.remaining.sum())
    if not 0 < waiting <= min(tuning.handful, problem.machines // 2) or problem.crowd_step() > 1:
        return None
    if problem.multiplicity is not None or residual.problem.shares_room:
        return None
    classes = residual.active().tolist()
    rows = _find_needed(residual, fits, classes, waiting)
    if len(rows) == 0:
        return None
    place = places_in(rows, problem.machines)
    pins = {cls: place[problem.pins[cls]] for cls in classes if cls in problem.pins}
    few = restrict(
        residual,
        rows,
        counts=residual.remaining,
        pins={cls: placed[placed >= 0] for cls, placed in pins.items()},
        rotation=int(np.searchsorted(rows, problem.rotation)) % len(rows),
    )
    few.remaining = residual.remaining
    every = np.arange(len(rows) + 1)
    return AlikeMachines(few, rows, every, {shape: row[rows] for shape, row in fits.items()})


def merge_alike(residual: Residual, fits: dict[int, Bool], tuning: ReductionTuning) -> AlikeMachines | None:
    """Merge machines that are alike for all waiting tasks; None if there are too few of them to bother.

    Machines that a pin names stay by themselves; problems with ledgers, or with joint rows that machines share, are
    left alone. What is left on a machine's own joint rows is part of its room.
    """
    problem = residual.problem
    if residual.problem.shares_room or problem.machines == 0:
        return None
    marks = _marks(residual, fits, tuning.worthwhile)
    if marks is None:
        return None
    groups = marks.groups()
    if groups is None:
        return None  # once in a lifetime, and not worth a slower way
    group, representative, size = groups
    if len(representative) > tuning.worthwhile * problem.machines:
        return None
    merged = restrict(
        residual,
        representative,
        multiplicity=size,
        pins={cls: np.sort(group[rows]) for cls, rows in problem.pins.items()},
        rotation=0,
    )
    merged.remaining = residual.remaining
    members, first = np.argsort(group, kind="stable"), np.r_[0, np.cumsum(size)]
    return AlikeMachines(merged, members, first, {shape: row[representative] for shape, row in fits.items()})


def restrict(
    residual: Residual, machines: Int64, shapes: Int64 | slice = slice(None), **changes: Any
) -> Residual:
    """Return what is left on some machines (rows, int64[G]) alone, for some ``shapes`` (int64[S']) or all; a
    copy.

    ``changes``: of its problem, which knows nothing but what a network does.
    """
    problem = residual.problem
    derived = problem.derive(
        requests=problem.requests[shapes],
        feasible=problem.feasible[shapes][:, machines],
        cost=problem.cost[shapes][:, machines],
        crowd=problem.crowd[machines],
        free=problem.free[machines],
        joint=tuple(joint.part(shapes, machines).as_limit() for joint in residual.joint),
        quotas=None if residual.quotas is None else residual.quotas.as_terms().part(shapes, machines),
        **changes,
    )
    few = Residual(derived)
    few.free = np.ascontiguousarray(residual.free[:, machines])
    few.placed = residual.placed[machines]
    return few


def _find_needed(residual: Residual, fits: dict[int, Bool], classes: list[int], most: int) -> Int64:
    """Return rows of the ``most`` cheapest machines of each class, ascending. Machines of equal cost at the end are
    taken in turn.
    """
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


def _marks(residual: Residual, fits: dict[int, Bool], worthwhile: float) -> ColumnMarks | None:
    """Return marks of the machines by all that tells them apart.

    None if the cheap half, room and crowding, already tells apart more than the share ``worthwhile`` of them.
    """
    problem = residual.problem
    marks = ColumnMarks(problem.machines)
    own = [joint.get_per_machine(-1) for joint in residual.joint]
    marks.add(np.vstack([residual.free, residual.placed, problem.crowd, *own]))
    if marks.count() > worthwhile * problem.machines:
        return None
    marks.add_each(np.where(row, problem.cost[shape], -1) for shape, row in fits.items())
    pinned = np.unique(np.concatenate([*problem.pins.values(), np.empty(0, dtype=np.int64)]))
    marks.add(pinned[None, :] + 1, at=pinned)
    return marks
