"""Makes networks smaller without changing the optimum: merges alike classes and machines, drops needless machines.

*Classes* that differ in nothing that a network contains, gangs aside, enter the network as one class. Five hundred
gangs of one kind of task are five hundred classes of a round, but one class of its network. Two thousand applications
with tasks of equal requests are one class of the network, too. The places that the network gives to a merged class go
first to whole gangs, in their order, then to other tasks, in order of wait, then of class.

*Dominance*: a handful of tasks needs a handful of machines. Let T tasks wait in all. Of the machines that a class may
use, take the T on which its first task costs least. Suppose that a flow puts a task of the class on any other
machine. Otherwise, one of the T cheapest machines would be empty, since at most T - 1 tasks are elsewhere, and the
task costs no more there. Some optimal flow therefore uses only these T machines, whatever the penalties. The network
with the T cheapest machines of each class has the same optimum as the full network.

*Symmetry*: on a fresh cluster, ten thousand machines may be identical. All arcs of identical machines have the same
cost, so the optimum has countless forms, and column generation would spend its time on ties. Machines with equal
capacity, costs, rules and crowding for every waiting shape are merged into a *group*. On a group of g machines, the
k-th task costs what the (k // g)-th task costs on one of them. By symmetry, the network with merged groups has the
same optimum. The flow of a merged group is divided among its members in turn, so that they fill evenly.

Classes and machines are merged or dropped only where machines do not share limits.
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

# --- Merging classes.


@dataclass(frozen=True, slots=True)
class MergedClasses:
    """The ``problem`` with merged classes, without gangs; ``merged``: int64[C], the merged class of each class."""

    whole: PlacementProblem
    problem: PlacementProblem
    merged: Int64

    def distribute(self, placed: Assignments) -> Assignments:
        """Divide the places of each merged class among the classes that it consists of.

        Gangs come in order of priority, then of age; each gets the places that it needs, or none. The remaining places
        go to members beyond the need of gangs that got places, and to other tasks, longest waiting first. Places that
        still remain belong to gangs that got none, and are left out.
        """
        if self.problem is self.whole:
            return placed
        left = placed.count_per_class(self.problem.classes)
        share = np.zeros(self.whole.classes, dtype=np.int64)
        served = np.zeros(len(self.whole.gang_need) + 1, dtype=np.bool_)
        served[-1] = True  # index -1: classes without a gang
        for gang, members in _gangs(self.whole):
            served[gang] = self._serve(members, int(self.whole.gang_need[gang]), share, left)
        gang_of = self.whole.gang if len(self.whole.gang) else np.full(self.whole.classes, -1)
        for bucket in range(WAIT_BUCKETS):
            if self.whole.counts[:, bucket].any():
                waiting = np.maximum(self.whole.counts[:, : bucket + 1].sum(axis=1) - share, 0)
                share += self._in_turn(np.where(served[gang_of], waiting, 0), left)
        return self._hand_over(placed, share)

    def gather(self, placed: Assignments) -> Assignments:
        """Return assignments of classes as assignments of the merged classes that contain them."""
        return Assignments(self.merged[placed.cls], placed.machine, placed.count)

    def _serve(self, members: Int64, need: int, share: Int64, left: Int64) -> bool:
        """Give a gang's classes ``need`` places of their merged classes, or none; return whether it got them."""
        found: list[tuple[int, int]] = []
        for cls in members.tolist():
            count = min(int(self.whole.counts[cls].sum()), int(left[self.merged[cls]]), need)
            need -= count
            left[self.merged[cls]] -= count
            found.append((cls, count))
        if need > 0:
            for cls, count in found:
                left[self.merged[cls]] += count
            return False
        for cls, count in found:
            share[cls] = count
        return True

    def _in_turn(self, waiting: Int64, left: Int64) -> Int64:
        """Return places for ``waiting`` tasks per class, in order; reduces ``left`` (int64[C'] per merged class)."""
        order = np.argsort(self.merged, kind="stable")
        wanted, bundle = waiting[order], self.merged[order]
        before = np.cumsum(wanted) - wanted
        first = np.searchsorted(bundle, np.arange(self.problem.classes))
        before -= before[first][bundle]
        given = np.empty_like(waiting)
        given[order] = np.clip(left[bundle] - before, 0, wanted)
        left -= np.bincount(self.merged, weights=given, minlength=len(left)).astype(np.int64)
        return given

    def _hand_over(self, placed: Assignments, share: Int64) -> Assignments:
        """Return the first ``share`` (int64[C]) places of each class's merged class, sorted by class and machine."""
        classes = np.argsort(self.merged, kind="stable")
        first = classes[np.searchsorted(self.merged[classes], np.arange(self.problem.classes))]
        # ``undivided``: merged classes of which one class gets all places.
        undivided = share[first] == placed.count_per_class(self.problem.classes)
        at_once = undivided[placed.cls]
        theirs = placed.select(at_once)
        dealt = self._place_singly(
            placed.select(~at_once), np.where(undivided[self.merged], 0, share), classes
        )
        pairs = np.append(first[theirs.cls], dealt.cls) * np.int64(self.whole.machines)
        pairs += np.append(theirs.machine, dealt.machine)
        pairs, entry = np.unique(pairs, return_inverse=True)
        count = np.bincount(entry, weights=np.append(theirs.count, dealt.count), minlength=len(pairs))
        return Assignments(*np.divmod(pairs, self.whole.machines), count.astype(np.int64))

    def _place_singly(self, placed: Assignments, share: Int64, classes: Int64) -> Assignments:
        """Return the places as single tasks of classes; ``classes``: int64[C], sorted by merged class.

        A merged class gives out the places of its machines in turn, one per machine, so that each class gets as many
        machines as possible.
        """
        tasks = placed.tasks()
        bundle, machine = tasks.cls, tasks.machine
        turn = rank(bundle * np.int64(self.whole.machines) + machine)
        order = np.argsort(bundle * (1 + turn.max(initial=0)) + turn, kind="stable")
        bundle, machine = bundle[order], machine[order]
        cls = np.repeat(classes, share[classes])
        start = np.searchsorted(bundle, np.arange(self.problem.classes))
        begin = np.searchsorted(self.merged[cls], np.arange(self.problem.classes))
        place = start[self.merged[cls]] + np.arange(len(cls)) - begin[self.merged[cls]]
        return Assignments(cls, machine[place], np.ones_like(cls))


def merge_classes(problem: PlacementProblem) -> MergedClasses:
    """Return the problem in which classes with equal shape, priority and pins are merged.

    Rules between tasks, pairs that steer placement and ledgers depend on which task comes first; with these, nothing is
    merged.
    """
    if problem.interdependent or problem.irrevocable or problem.most:
        return MergedClasses(problem, problem, np.arange(problem.classes))
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
        return MergedClasses(problem, problem, of)
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
    return MergedClasses(problem, derived, of)


def _gangs(problem: PlacementProblem) -> list[tuple[int, Int64]]:
    """Return gangs and their classes, the most important gang first; of equally important gangs, the oldest first."""
    members = problem.split_by_gang()
    rank = np.array([int(problem.priority[each].max(initial=-1)) for each in members], dtype=np.int64)
    return [(gang, members[gang]) for gang in np.argsort(-rank, kind="stable").tolist()]


# --- Merging machines.


@dataclass(frozen=True, slots=True)
class AlikeMachines:
    """Groups of alike machines, and the problem in which each group is one row.

    ``residual``: the merged problem; ``members``: int64[M'], machine rows by group; ``first``: int64[G + 1], where each
    group begins in ``members``; ``fits``: on which groups one task of each shape fits.
    """

    residual: Residual
    members: Int64
    first: Int64
    fits: dict[int, Bool]

    def distribute(self, merged: Assignments) -> Assignments:
        """Divide the tasks placed on each group of equal machines among the group's machines.

        The tasks of a group go to its members in turn, class after class. Members of a group of machines get equal
        numbers of tasks of a class, or numbers that differ by one, so what fits the group fits each member.
        """
        order = np.argsort(merged.machine, kind="stable")
        cls = np.repeat(merged.cls[order], merged.count[order])
        group = np.repeat(merged.machine[order], merged.count[order])
        starts = np.searchsorted(group, group, side="left")
        size = self.first[group + 1] - self.first[group]
        machine = self.members[self.first[group] + (np.arange(len(group)) - starts) % size]
        return Assignments.count_pairs(cls, machine)


def narrow(residual: Residual, fits: dict[int, Bool], tuning: ReductionTuning) -> AlikeMachines | None:
    """Return the problem over only the machines that its tasks need, or None if leaving out machines saves nothing.

    In the result, each machine forms a group of its own. ``fits`` maps each waiting shape to
    ``residual.find_fitting(shape)``. Problems in which machines share limits, and those with more than a handful of
    tasks, are not reduced.
    """
    problem = residual.problem
    waiting = int(residual.remaining.sum())
    if not 0 < waiting <= min(tuning.handful, problem.machines // 2) or problem.crowd_step() > 1:
        return None
    if problem.multiplicity is not None or residual.problem.shares_room:
        return None
    classes = residual.active().tolist()
    rows = _find_cheapest_machines(residual, fits, classes, waiting)
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
    """Merge machines that are alike for all waiting tasks; return None if too few machines are alike.

    Pinned machines are not merged, nor are machines that share limits with others. What a machine has left on joint
    rows of its own counts as part of its capacity.
    """
    problem = residual.problem
    if residual.problem.shares_room or problem.machines == 0:
        return None
    marks = _marks(residual, fits, tuning.worthwhile)
    if marks is None:
        return None
    groups = marks.groups()
    if groups is None:
        return None  # Hashes collided; that is so rare that the machines may stay unmerged.
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
    """Return a copy of ``residual`` on some machines (rows, int64[G]), for some ``shapes`` (int64[S']) or all.

    ``changes``: fields to change in its problem; the problem keeps only what a network contains.
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


def _find_cheapest_machines(
    residual: Residual, fits: dict[int, Bool], classes: list[int], most: int
) -> Int64:
    """Return the rows of the ``most`` cheapest machines of each class, ascending.

    Where machines cost the same, each class chooses machines that no class before it has chosen.
    """
    problem = residual.problem
    before = problem.crowd * residual.placed  # what the next task pays because of earlier passes
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
    """Return marks by which alike machines are recognised, or None if too few machines can be alike.

    Too few can be alike if capacity and crowding, which are cheap to compare, already distinguish more than
    ``worthwhile`` of all machines.
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
