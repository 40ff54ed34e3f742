"""Checks a round's placements against changes since its snapshot, and assumes those that are still valid.

The task of a placement must still wait and be of the same class. The machine must exist, be open to the task, and
have enough free. Rules between tasks, pairs, and limits of models must allow each placement after those before it.
Where a ledger depends on the order, nothing else may have come to the machine. A gang keeps all the places that it
needs, or none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.commit.current_limits import LimitsNow, find_disturbed
from firmament.core.constraints.constraint import Constraints
from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.pairs import NO_PAIRS, PairState
from firmament.core.filters.static_rows import StaticRows
from firmament.core.rules.gangs.members import count_missing_members
from firmament.core.rules.pairs import compile_pairs
from firmament.core.rules.registry import compile_rules
from firmament.core.rules.task_amounts import net_requests
from firmament.core.rules.tree_groups.revalidation import DecidedGroups
from firmament.core.snapshot.grouping import RoundContext
from firmament.core.snapshot.snapshot import Snapshot, model_columns
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase


@dataclass(frozen=True, slots=True)
class DecidedPlacements:
    """Placements of a snapshot, one task each: class, machine row of the problem, task row, uid, machine name."""

    cls: Int64
    row: Int64
    task: Int64
    uid: list[str]
    machine: list[str]


class Recheck:
    """Checks the placements of a snapshot before they take effect, in the order in which they were admitted.

    ``ordered``: bool[N], which placements must reach their machines in order; ``limits``: present limits of models,
    None if they cannot be tighter than before.
    """

    def __init__(
        self,
        context: RoundContext,
        snapshot: Snapshot,
        decided: DecidedPlacements,
        ordered: Bool,
        limits: LimitsNow | None,
    ) -> None:
        self._cluster = cluster = context.cluster
        self._snapshot = snapshot
        self._decided = decided
        self._limits = limits
        self._promised = cluster.sum_promised_beside(snapshot.tasks)
        known = cluster.machines.row_of
        self._machine = np.array([known.get(name, -1) for name in decided.machine], dtype=np.int64)
        self._wanted = net_requests(cluster, snapshot.cls[decided.cls], self._machine)
        self._allowed = self._still_allowed(context.static_rows)
        if ordered.any():
            self._allowed &= ~(ordered & find_disturbed(cluster, snapshot)[decided.row])
        if limits is not None and self._allowed.any():
            self._allowed &= limits.pass_filters(decided.cls, self._machine)

    def assume(self) -> Bool:
        """Put the placements that are still valid into effect, and return which they are: bool[N].

        A gang gets all the places that it needs, or none. The gangs, and the members that they need, are taken as
        they are now. A group over a tree must still need exactly the members that were decided for it. The tree, the
        rules and the present tasks of the group must be unchanged.
        """
        cluster = self._cluster
        if not self._allowed.any():
            return self._allowed
        gang, need, exact, given_up = self._gangs()
        while True:
            kept = self._assume_possible(~np.append(given_up, False)[gang])
            members = gang[kept & (gang >= 0)]
            found = np.bincount(members, minlength=len(given_up))
            broken = (found < need) | (exact & (found != need))
            broken &= np.isin(np.arange(len(given_up)), members)
            if not broken.any():
                return kept
            given_up |= broken
            for task in self._decided.task[kept].tolist():
                transitions.release(cluster, task)

    def _gangs(self) -> tuple[Int64, Int64, Bool, Bool]:
        """Return the gang of each decided task, and three arrays about these gangs.

        The function returns int64[N], the gang of each task, -1 for none; int64[G], members that each gang lacks;
        bool[G], whether rules over a tree place the gang; bool[G], whether something that its places depended on has
        changed.
        """
        cluster, decided = self._cluster, self._decided
        tasks, jobs = cluster.tasks, cluster.jobs
        gang = np.full(len(decided.task), -1, dtype=np.int64)
        number: dict[str, int] = {}
        if jobs.gangs:
            for index, (task, uid) in enumerate(zip(decided.task.tolist(), decided.uid, strict=True)):
                job = tasks.job[task]
                if tasks.uid[task] == uid and jobs.gang(job) is not None:
                    gang[index] = number.setdefault(job, len(number))
        need = [
            count_missing_members(cluster, job) for name in number if (job := jobs.gang(name)) is not None
        ]
        for name, index in number.items():
            job = jobs.gang(name)
            # What was decided for a tree of groups takes effect as a whole.
            if job is not None and job.groups:
                need[index] = int((gang == index).sum())
        terms = self._snapshot.problem.topology
        ruled = {self._snapshot.gangs[each] for each in terms.every}
        used = {
            name: np.unique(decided.row[gang == index]) for name, index in number.items() if name in ruled
        }
        overtaken = find_overtaken_groups(cluster, self._snapshot, used)
        return (
            gang,
            np.array(need, dtype=np.int64),
            np.array([name in ruled for name in number], dtype=np.bool_),
            np.array([name in overtaken for name in number], dtype=np.bool_),
        )

    def _assume_possible(self, wanted: Bool) -> Bool:
        """Assume the placements of ``wanted`` (bool[N]) that are still valid, and return which they are: bool[N].

        Placements that cannot affect each other are checked together. Of all other placements, earlier ones have
        precedence.
        """
        task, machine = self._decided.task, self._machine
        possible: Bool = wanted & self._allowed
        rows = np.flatnonzero(possible)
        shared = _Shared(self._cluster, self._snapshot, self._decided.cls, machine, self._limits)
        single = self._overfull(rows) | shared.singly(rows)
        at_once = rows[~single]
        shared.take_all(at_once)
        transitions.assume(self._cluster, task[at_once], machine[at_once])
        for row in rows[single].tolist():
            possible[row] = self._has_room(row) and shared.admit(row)
            if possible[row]:
                transitions.assume(self._cluster, task[row : row + 1], machine[row : row + 1])
        return possible

    def _overfull(self, rows: Int64) -> Bool:
        """Return which of ``rows`` are on machines with too little free for all of ``rows``: bool[len(rows)]."""
        machines = self._cluster.machines
        wanted = np.zeros_like(machines.capacity)
        np.add.at(wanted, self._machine[rows], self._wanted[rows])
        room = machines.capacity - machines.used
        if self._promised is not None:
            room -= self._promised
        overfull: Bool = np.any((wanted > 0) & (wanted > room), axis=1)
        return overfull[self._machine[rows]]

    def _has_room(self, row: int) -> bool:
        """Return whether the machine of a placement has enough free for its task."""
        machines, at = self._cluster.machines, int(self._machine[row])
        request = self._wanted[row]
        left = machines.capacity[at] - machines.used[at]
        if self._promised is not None:
            left = left - self._promised[at]
        return bool((request <= left)[request > 0].all())

    def _still_allowed(self, static_rows: StaticRows) -> Bool:
        """Return which tasks still wait, are unchanged and may use their machine, which must exist: bool[N]."""
        cluster, decided, machine = self._cluster, self._decided, self._machine
        tasks = cluster.tasks
        row = self._snapshot.cls[decided.cls]
        same = [tasks.uid[task] == uid for task, uid in zip(decided.task.tolist(), decided.uid, strict=True)]
        waits = (tasks.state[decided.task] == TaskPhase.PENDING) & (tasks.cls[decided.task] == row)
        allowed: Bool = np.array(same, dtype=np.bool_) & waits & (machine >= 0)
        for cls in np.unique(row).tolist():
            members = np.flatnonzero(allowed & (row == cls))
            open_to = static_rows.get(cluster.classes.rows[cls].shape).feasible
            allowed[members] = open_to[machine[members]]
        return allowed


class _Shared:
    """Limits that tasks share besides the capacity of machines: rules between tasks, pairs, and limits of models.

    Placements are numbered: ``cls``, ``machine``: int64[N], class of the snapshot and present machine row of each.
    """

    def __init__(
        self, cluster: Cluster, snapshot: Snapshot, cls: Int64, machine: Int64, limits: LimitsNow | None
    ) -> None:
        self._cls, self._machine = cls, machine
        self._limits = None if limits is None else limits.rooms()
        rules = compile_rules(cluster, snapshot.cls.tolist())
        tied = Constraints([RuleState(rules), pairs_now(cluster, snapshot)])
        self._constraints = Constraints([self._limits, tied])
        self._tied: Bool = np.array(
            [tied.involves(each) for each in range(len(snapshot.cls))], dtype=np.bool_
        )

    def singly(self, rows: Int64) -> Bool:
        """Return which placements of ``rows`` must be checked one by one, in order: bool[len(rows)]."""
        tied: Bool = self._tied[self._cls[rows]]
        if self._limits is None:
            return tied
        return tied | self._limits.find_crowded(self._cls[rows], self._machine[rows])

    def take_all(self, rows: Int64) -> None:
        """Count placements that no other placement affects and that the limits of models allow together."""
        if self._limits is not None:
            self._limits.add_all(self._cls[rows], self._machine[rows], np.ones(len(rows), dtype=np.int64))

    def admit(self, row: int) -> bool:
        """Count one placement if it is still allowed, and return whether it is."""
        return self._constraints.admit(int(self._cls[row]), int(self._machine[row]))


# --- Hard limits of pairs, checked again when a round ends after events.


def pairs_now(cluster: Cluster, snapshot: Snapshot) -> PairState:
    """Return the present state of pairs for the classes of a snapshot.

    The state has no kinds if pairs limit nothing, since only votes could then refuse a machine. Votes stay as the
    round counted them, because they depend on the order of counting; limits do not depend on it.
    """
    models, rules = snapshot.configuration.pair_models, NO_PAIRS
    if models:
        columns = model_columns(cluster, snapshot.assessed.machines.now)
        rules = compile_pairs(cluster, models, columns, snapshot.cls.tolist())
    return rules.begin(counting=rules.limited)


# --- Groups over a tree of machines, checked again.


def find_overtaken_groups(cluster: Cluster, snapshot: Snapshot, used: Mapping[str, Int64]) -> frozenset[str]:
    """Return the jobs whose places depended on something that has changed (`find_overtaken`).

    ``used``: for each job of a group with rules, the machines (rows of the snapshot) that were decided for it.
    """
    decided = DecidedGroups(snapshot.problem.topology, snapshot.gangs, snapshot.machine_names)
    now = snapshot.assessed.machines.now
    model = snapshot.configuration.group_model
    return decided.find_overtaken(cluster, model, lambda: model_columns(cluster, now), used)
