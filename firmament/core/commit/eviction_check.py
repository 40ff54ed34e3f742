"""Checks before the evictions of a round take effect whether they are still right in the present cluster."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.commit.current_limits import find_disturbed, has_row_per_machine, newly_limited
from firmament.core.commit.revalidation import find_overtaken_groups, pairs_now
from firmament.core.constraints.constraint import Constraints
from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.pairs import PairState
from firmament.core.preemption.problem import PreemptionDecision, PreemptionProblem
from firmament.core.rules.gangs.members import breaks_up, count_missing_members
from firmament.core.rules.registry import compile_rules
from firmament.core.rules.task_amounts import net_requests
from firmament.core.snapshot.grouping import RoundContext
from firmament.core.snapshot.snapshot import Snapshot
from firmament.core.state.tasks import TaskPhase


class EvictionCheck:
    """Checks, after the placements of a round took effect, which of its evictions are still right.

    ``preemptors``: for each decision, the task that is placed once the victims have left (int64[N] rows). The decisions
    for one machine are kept together or dropped together. The decisions for one gang are also kept or dropped
    together, by what the gang needs now; so are decisions that depend on the same victims. No eviction leaves a gang,
    or a group in it, with fewer tasks than it needs. Either all tasks of a gang leave, or only as many as the gang
    can do without.
    """

    def __init__(
        self,
        context: RoundContext,
        snapshot: Snapshot,
        preemption: PreemptionProblem,
        decided: Sequence[PreemptionDecision],
        preemptors: Int64,
    ) -> None:
        self._context, self._cluster = context, context.cluster
        assert snapshot.importance is not None  # Snapshots of rounds with preemption have it.
        self._snapshot, self._importance = snapshot, snapshot.importance
        self._preemption = preemption
        self._decided = decided
        self._preemptors = preemptors
        self._evicted = {victim for each in decided for victim in each.evicts}
        self._pairs: PairState | None = None
        self._disturbed: Bool = np.zeros(0, dtype=np.bool_)
        self._newly_limited = False

    def standing(self) -> Bool:
        """Return which evictions are still right after what happened while the round was solved: bool[N]."""
        dropped = self._find_circles()
        moved_on = self._cluster.version != self._snapshot.version
        by_machine: dict[int, list[int]] = {}
        for index, each in enumerate(self._decided):
            by_machine.setdefault(each.machine, []).append(index)
        if moved_on:
            self._pairs = pairs_now(self._cluster, self._snapshot)
            self._disturbed = find_disturbed(self._cluster, self._snapshot)
            self._newly_limited = newly_limited(
                self._context, self._snapshot, {each.cls for each in self._decided}
            )
            for indices in by_machine.values():
                dropped[indices] |= not self._holds(indices)
            dropped |= self._of_overtaken_groups()
        while True:
            before = int(dropped.sum())
            if before:
                self._drop_companions(dropped, by_machine)
            if moved_on or before:
                self._drop_incomplete(dropped)
            self._drop_half_evicted(dropped)
            if int(dropped.sum()) == before:
                return ~dropped

    # --- decisions that are kept or dropped together --------------------------------------------------------------

    def _drop_companions(self, dropped: Bool, by_machine: dict[int, list[int]]) -> None:
        """Drop the decisions that depend on dropped ones because they share a machine or victims with them."""
        while True:
            before = int(dropped.sum())
            lost = {victim for index in np.flatnonzero(dropped).tolist() for victim in self._counts_on(index)}
            for index in np.flatnonzero(~dropped).tolist():
                dropped[index] = not lost.isdisjoint(self._counts_on(index))
            for indices in by_machine.values():
                dropped[indices] = dropped[indices].any()
            if int(dropped.sum()) == before:
                return

    def _find_circles(self) -> Bool:
        """Return which decisions would make evictions go round in a circle: bool[N].

        A circle may be closed with earlier evictions or with decisions before this one.
        """
        dropped: Bool = np.zeros(len(self._decided), dtype=np.bool_)
        chains, cluster = self._context.evictions.chains, self._cluster
        if not chains.any:
            return dropped
        trial = chains.copy()
        for index, each in enumerate(self._decided):
            preemptor, victims = (
                int(self._preemptors[index]),
                self._preemption.row[list(each.evicts)].tolist(),
            )
            origins = (
                trial.find_origins(cluster, trial.find_workload(cluster, preemptor)) if victims else set()
            )
            if any(trial.find_workload(cluster, victim) in origins for victim in victims):
                dropped[index] = True
            else:
                trial.note(cluster, preemptor, victims, 0.0)
        return dropped

    def _counts_on(self, index: int) -> set[int]:
        return {victim for victim in self._decided[index].awaits if victim in self._evicted}

    def _of_overtaken_groups(self) -> Bool:
        """Return which decisions are for groups with rules that now need more, fewer or other places: bool[N]."""
        tasks, jobs = self._cluster.tasks, self._cluster.jobs
        terms = self._snapshot.problem.topology
        job_of = np.array([tasks.job[preemptor] for preemptor in self._preemptors.tolist()], dtype=object)
        machine = np.array([each.machine for each in self._decided], dtype=np.int64)
        ruled = {self._snapshot.gangs[gang] for gang in terms.every}
        used = {job: machine[job_of == job] for job in ruled.intersection(job_of.tolist())}
        lost = find_overtaken_groups(self._cluster, self._snapshot, used)
        for name, places in used.items():
            job = jobs.gang(name)
            if job is None or (not job.groups and count_missing_members(self._cluster, job) != len(places)):
                lost |= {name}
        return np.isin(job_of, list(lost))

    def _drop_incomplete(self, dropped: Bool) -> None:
        """Drop the decisions for gangs that would get fewer places than they need now."""
        tasks, jobs = self._cluster.tasks, self._cluster.jobs
        coming: dict[str, list[int]] = {}
        for index in np.flatnonzero(~dropped).tolist():
            coming.setdefault(tasks.job[int(self._preemptors[index])], []).append(index)
        for name, indices in coming.items():
            job = jobs.gang(name)
            if job is not None and count_missing_members(self._cluster, job) > len(indices):
                dropped[indices] = True

    def _drop_half_evicted(self, dropped: Bool) -> None:
        """Drop the decisions that would leave a gang incomplete, or evict more of it than may leave at a time."""
        tasks, jobs = self._cluster.tasks, self._cluster.jobs
        if not jobs.gangs:
            return
        leaves: dict[str, list[int]] = {}
        leaving_rows: dict[str, list[int]] = {}
        for index in np.flatnonzero(~dropped).tolist():
            for victim in self._decided[index].evicts:
                row = int(self._preemption.row[victim])
                leaves.setdefault(tasks.job[row], []).append(index)
                leaving_rows.setdefault(tasks.job[row], []).append(row)
        for name, indices in leaves.items():
            job = jobs.gang(name)
            if job is not None and breaks_up(self._cluster, job, leaving_rows[name]):
                dropped[indices] = True

    # --- checks of one machine's decisions -----------------------------------------------------------------------

    def _holds(self, indices: Sequence[int]) -> bool:
        """Return whether all decisions for one machine are still possible and needed."""
        cluster, tasks = self._cluster, self._cluster.tasks
        decided = [self._decided[index] for index in indices]
        if not all(self._models_stand(each) for each in decided):
            return False
        machine = self._row_of(decided[0].machine)
        classes = self._snapshot.cls[[each.cls for each in decided]]
        full = machine in cluster.machines.beyond_measure  # full whichever tasks leave
        if machine < 0 or full or not all(self._waits(index) for index in indices):
            return False
        preemptors = self._preemptors[list(indices)]
        lowest = int(self._importance.rank_preemptors(tasks, preemptors).min())
        if not all(self._can_go(victim, lowest) for each in decided for victim in each.evicts):
            return False
        evicted = [victim for victim in decided[0].awaits if victim in self._evicted]
        leaving = [
            int(self._preemption.row[each])
            for each in decided[0].awaits
            if each not in self._evicted and self._is_there(each)
        ]
        if not all(self._is_there(victim) for victim in evicted) or not tasks.leaving[leaving].all():
            return False
        gone = [*self._preemption.row[evicted].tolist(), *leaving]
        here = [row for row in gone if tasks.machine[row] == machine]
        room = cluster.free_beside(self._snapshot.tasks)[machine]
        room = room + cluster.demand_of(tasks.cls[here])[0].sum(axis=0)
        wanted = net_requests(cluster, classes, np.full(len(classes), machine))
        if not (wanted.sum(axis=0) <= room)[wanted.any(axis=0)].all():
            return False
        pairs = Constraints([self._pairs])
        let_in = all(pairs.admit(each.cls, machine) for each in decided)
        return let_in and self._rules_allow(machine, classes, gone)

    def _models_stand(self, decided: PreemptionDecision) -> bool:
        """Return whether the limits that models set for the machine of a decision are still valid."""
        problem, machine = self._snapshot.problem, decided.machine
        shape = int(problem.shape[decided.cls])
        limited = [rows for rows in problem.joint if rows.row_of[machine] >= 0 and rows.holds()[shape]]
        drawing = problem.quotas is not None and problem.quotas.draw[shape] >= 0
        if drawing or not all(map(has_row_per_machine, limited)):
            return False  # a change on another machine may matter
        others = self._newly_limited or any(
            each.feasible is not None or each.ledger is not None
            for each in self._snapshot.assessed.assessments
        )
        return not (self._disturbed[machine] and (limited or others))

    def _row_of(self, machine: int) -> int:
        """Return the present row of a machine of the snapshot, -1 if the machine is gone."""
        return self._cluster.machines.row_of.get(self._snapshot.machine_names[machine], -1)

    def _waits(self, index: int) -> bool:
        """Return whether the task of a decision is unchanged and still waits, and may still use its machine."""
        tasks, snapshot = self._cluster.tasks, self._snapshot
        decided, preemptor = self._decided[index], int(self._preemptors[index])
        cls = int(snapshot.cls[decided.cls])
        place = int(
            snapshot.first[decided.cls] + np.flatnonzero(snapshot.members[decided.cls] == preemptor)[0]
        )
        return bool(
            tasks.uid[preemptor] == snapshot.uids[place]
            and tasks.state[preemptor] == TaskPhase.PENDING
            and tasks.cls[preemptor] == cls
            and self._importance.rank_preemptors(tasks, preemptor) == self._preemption.priority[decided.cls]
            and self._context.static_rows.get(self._cluster.classes.rows[cls].shape).feasible[
                self._row_of(decided.machine)
            ]
        )

    def _is_there(self, victim: int) -> bool:
        """Return whether a task of the snapshot is still on a machine."""
        tasks, row = self._cluster.tasks, self._preemption.row[victim]
        return bool(
            tasks.state[row] == TaskPhase.BOUND and tasks.sequence[row] == self._preemption.sequence[victim]
        )

    def _can_go(self, victim: int, below: int) -> bool:
        tasks, row = self._cluster.tasks, self._preemption.row[victim]
        machine = self._row_of(int(self._preemption.machine[victim]))
        return bool(
            self._is_there(victim)
            and machine >= 0
            and tasks.machine[row] == machine
            and self._importance.rank_victims(tasks, row) < below
            and not tasks.leaving[row]
        )

    def _rules_allow(self, machine: int, classes: Int64, going: list[int]) -> bool:
        """Return whether rules between tasks allow all tasks, one after another, after ``going`` (rows) have left."""
        tasks = self._cluster.tasks
        there = [row for row in going if tasks.machine[row] >= 0]
        rules = compile_rules(self._cluster, [*classes.tolist(), *tasks.cls[there].tolist()])
        state = RuleState(rules)
        for index, row in enumerate(there):
            state.add(len(classes) + index, int(tasks.machine[row]), -1)
        for index in range(len(classes)):
            if not state.allows(index, machine):
                return False
            state.add(index, machine)
        return True
