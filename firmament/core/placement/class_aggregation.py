"""Classes that differ in nothing a network can see, the gang included, enter it as one.

Five hundred gangs of one kind of task are five hundred classes of a round, but one class of its network; so are two
thousand applications whose tasks ask for the same. What the network places of it is dealt out to gangs as wholes, in
their order, before other tasks get any of it; these get it in order of wait, then of class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.problem import WAIT_BUCKETS, Assignments, PlacementProblem
from firmament.core.ranks import rank

_NONE = np.empty(0, dtype=np.int64)


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
