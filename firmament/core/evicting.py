"""Puts a round's evictions into effect, checked against what has happened meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.cluster import Cluster
from firmament.core.evictions import Evictions
from firmament.core.feasibility import StaticRows
from firmament.core.leaning import leaders
from firmament.core.opening import Picture
from firmament.core.results import Delta, DeltaKind
from firmament.core.rule_compiler import compile_rules
from firmament.core.tasks import State
from firmament.flow.problem import Assignments
from firmament.preemption.problem import Eviction, PreemptionProblem
from firmament.rules.state import RuleState


def evict(
    cluster: Cluster,
    static_rows: StaticRows,
    evictions: Evictions,
    picture: Picture,
    placed: Assignments,
    decided: Sequence[Eviction],
) -> tuple[list[Delta], Int64]:
    """Turn evictions into deltas: those who go first, then those who come and depend on it.

    Who comes is assumed on its machine at once, beside those who go: until they are gone the machine is overfull, and
    nobody else takes the place. If events arrived since the picture was taken, what was decided for a machine is
    checked again, and dropped as a whole if something of it no longer holds. Also returns the rows of tasks that lost
    their place that way; they should try again.
    """
    preemption = picture.preemption
    if preemption is None or not decided:
        return [], np.empty(0, dtype=np.int64)
    guests = _guests(picture, placed, decided)
    stands = np.ones(len(decided), dtype=np.bool_)
    if cluster.version != picture.version:
        check = _Check(cluster, static_rows, picture, preemption)
        by_machine: dict[int, list[int]] = {}
        for index, each in enumerate(decided):
            by_machine.setdefault(each.machine, []).append(index)
        for indices in by_machine.values():
            stands[indices] = check.holds([decided[index] for index in indices], guests[indices])
    stands &= ~_broken(picture, decided, stands)
    lost = guests[~stands]
    kept = [(each, int(guest)) for each, guest, keep in zip(decided, guests, stands, strict=True) if keep]
    for each, keep in zip(decided, stands.tolist(), strict=True):
        if not keep:
            cluster.mark(picture.machine_names[each.machine])
    return _carried_out(cluster, evictions, picture, preemption, placed, kept), lost


def _broken(picture: Picture, decided: Sequence[Eviction], stands: Bool) -> Bool:
    """bool[N]: what was decided for gangs, or beside them, of which not everything stands any more."""
    if not len(picture.gangs) or stands.all():
        return np.zeros(len(decided), dtype=np.bool_)
    gang = picture.problem.gang[[each.cls for each in decided]]
    machine = np.array([each.machine for each in decided], dtype=np.int64)
    dropped = ~stands
    while True:  # who shares a machine with a place that is given up may count on the same victims
        also = np.isin(gang, gang[dropped & (gang >= 0)]) & (gang >= 0)
        more = dropped | also | np.isin(machine, machine[dropped | also])
        if (more == dropped).all():
            return dropped
        dropped = more


def _guests(picture: Picture, placed: Assignments, decided: Sequence[Eviction]) -> Int64:
    """int64[N]: the task (row) that each eviction is for: of each class those that follow the ones placed."""
    next_of = np.bincount(placed.cls, weights=placed.count, minlength=len(picture.members)).astype(np.int64)
    guests = np.empty(len(decided), dtype=np.int64)
    for index, each in enumerate(decided):
        guests[index] = picture.members[each.cls][next_of[each.cls]]
        next_of[each.cls] += 1
    return guests


class _Check:
    """Holds decisions against the cluster as it is now."""

    def __init__(
        self, cluster: Cluster, static_rows: StaticRows, picture: Picture, preemption: PreemptionProblem
    ) -> None:
        self._cluster = cluster
        self._static_rows = static_rows
        self._picture = picture
        self._preemption = preemption

    def holds(self, decided: Sequence[Eviction], guests: Int64) -> bool:
        """Whether all that was decided for one machine is still possible and needed."""
        cluster, tasks = self._cluster, self._cluster.tasks
        machine = cluster.machines.row_of.get(self._picture.machine_names[decided[0].machine], -1)
        classes = self._picture.cls[[each.cls for each in decided]]
        if machine < 0 or not all(
            self._waits(each, guest) for each, guest in zip(decided, guests.tolist(), strict=True)
        ):
            return False
        told = {victim for each in decided for victim in each.evicts}
        going = [self._preemption.row[victim] for victim in told]
        lowest = int(self._preemption.priority[[each.cls for each in decided]].min())
        if not all(self._can_go(victim, machine, lowest) for victim in told):
            return False
        leaving = [
            int(self._preemption.row[each])
            for each in decided[0].awaits
            if each not in told and self._is_there(each)
        ]
        if not tasks.leaving[leaving].all():
            return False
        here = [row for row in (*going, *leaving) if tasks.machine[row] == machine]
        room = cluster.machines.capacity[machine] - cluster.machines.used[machine]
        room = room + self._requests(tasks.cls[here]).sum(axis=0)
        wanted = self._requests(classes)
        if not (wanted.sum(axis=0) <= room)[wanted.any(axis=0)].all():
            return False
        return self._rules_allow(machine, classes, [*going, *leaving])

    def _waits(self, decided: Eviction, guest: int) -> bool:
        tasks, picture = self._cluster.tasks, self._picture
        cls = int(picture.cls[decided.cls])
        place = int(np.flatnonzero(picture.members[decided.cls] == guest)[0])
        machine = self._cluster.machines.row_of[picture.machine_names[decided.machine]]
        return bool(
            tasks.uid[guest] == picture.uids[decided.cls][place]
            and tasks.state[guest] == State.PENDING
            and tasks.cls[guest] == cls
            and tasks.priority[guest] == self._preemption.priority[decided.cls]
            and self._static_rows.of(self._cluster.classes.rows[cls].shape).feasible[machine]
        )

    def _is_there(self, victim: int) -> bool:
        """Whether the task that the picture knew is still on a machine."""
        tasks, row = self._cluster.tasks, self._preemption.row[victim]
        return bool(
            tasks.state[row] == State.BOUND and tasks.sequence[row] == self._preemption.sequence[victim]
        )

    def _can_go(self, victim: int, machine: int, below: int) -> bool:
        tasks, row = self._cluster.tasks, self._preemption.row[victim]
        return bool(
            self._is_there(victim)
            and tasks.machine[row] == machine
            and tasks.priority[row] < below
            and not tasks.leaving[row]
        )

    def _requests(self, classes: Int64) -> Int64:
        rows = self._cluster.classes.rows
        return self._cluster.request_rows([rows[cls].shape for cls in classes.tolist()])

    def _rules_allow(self, machine: int, classes: Int64, going: list[int]) -> bool:
        """Whether the rules between tasks let all come, one after another, once ``going`` (rows) are gone."""
        tasks = self._cluster.tasks
        there = [row for row in going if tasks.machine[row] >= 0]
        rules = compile_rules(self._cluster, [*classes.tolist(), *tasks.cls[there].tolist()])
        if rules is None:
            return True
        state = RuleState(rules)
        for index, row in enumerate(there):
            state.add(len(classes) + index, int(tasks.machine[row]), -1)
        for index in range(len(classes)):
            if not state.allows(index, machine):
                return False
            state.add(index, machine)
        return True


def _carried_out(
    cluster: Cluster,
    evictions: Evictions,
    picture: Picture,
    preemption: PreemptionProblem,
    placed: Assignments,
    kept: Sequence[tuple[Eviction, int]],
) -> list[Delta]:
    tasks = cluster.tasks
    leans = _leans(cluster, picture, placed, kept)
    deltas = []
    coming: list[Delta] = []
    for index, (each, guest) in enumerate(kept):
        name = picture.machine_names[each.machine]
        awaited = [
            int(preemption.row[other])
            for other in each.awaits
            if tasks.sequence[preemption.row[other]] == preemption.sequence[other]
            and tasks.state[preemption.row[other]] == State.BOUND
        ]
        uid = tasks.uid[guest]
        before = tuple(dict.fromkeys((*(tasks.uid[row] for row in awaited), *leans.get(index, ()))))
        deltas += [
            Delta(
                DeltaKind.PREEMPT,
                tasks.uid[int(preemption.row[victim])],
                name,
                beyond_budget=victim in each.beyond,
            )
            for victim in each.evicts
        ]
        evictions.tell(cluster, (int(preemption.row[victim]) for victim in each.evicts))
        coming.append(Delta(DeltaKind.PLACE, uid, name, depends_on=before))
    rows = np.array([cluster.machines.row_of[delta.machine] for delta in coming], dtype=np.int64)
    cluster.assume_all(np.array([guest for _, guest in kept], dtype=np.int64), rows)
    for delta, (_, guest) in zip(coming, kept, strict=True):
        evictions.count_on(cluster, delta.depends_on, guest)
    return [*deltas, *coming]


def _leans(
    cluster: Cluster, picture: Picture, placed: Assignments, kept: Sequence[tuple[Eviction, int]]
) -> dict[int, tuple[str, ...]]:
    """Uids of tasks that must be bound before those who come may be, because they have to be near them, by index."""
    problem = picture.problem
    if problem.rules is None or not any(
        problem.rules.rules(each.cls).attraction is not None for each, _ in kept
    ):
        return {}
    earlier = np.repeat(placed.cls, placed.count), np.repeat(placed.machine, placed.count)
    uids = []
    taken: dict[int, int] = {}
    for cls in earlier[0].tolist():
        uids.append(picture.uids[cls][taken.get(cls, 0)])
        taken[cls] = taken.get(cls, 0) + 1
    found = leaders(
        problem,
        np.append(earlier[0], [each.cls for each, _ in kept]),
        np.append(earlier[1], [each.machine for each, _ in kept]),
        [*uids, *(cluster.tasks.uid[guest] for _, guest in kept)],
    )
    return {index - len(uids): leads for index, leads in found.items() if index >= len(uids)}
