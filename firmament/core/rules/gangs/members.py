"""Examines the members of a gang: how many are on machines, and which are to be tried, bound again or held back.

- A gang with tree rules may have members beyond its size: these wait until another member leaves (`Surplus`).
- A member whose binding was refused is bound on the same machine again, a few times, before it loses this machine
  (`Rebinding`).
- A running gang may have further tasks that wait; each is placed on its own. A round may evict a whole gang for more
  important tasks and also place one of the gang's own tasks. If a round evicts a whole gang and also places one of
  its tasks, the placed task is held back, so that no part of the gang remains (`hold_back_decisions`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.model import Job
from firmament.core.preemption.problem import PreemptionDecision, PreemptionProblem
from firmament.core.reasons import format_number
from firmament.core.results import Delta, DeltaKind, Unscheduled
from firmament.core.rules.gangs.disruption import find_leaving_units, list_eviction_units
from firmament.core.state import transitions, waiting
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase
from firmament.core.tree_solver.nested.lacking import count_missing, explain_incomplete, list_whole


def count_missing_members(cluster: Cluster, job: Job) -> int:
    """Return how many more members a gang needs on machines; members that are being evicted count as gone."""
    if job.groups:
        return count_missing_beside(cluster, job, ())
    bound, assumed, _ = count_members(cluster, job.id)
    return job.min_members - bound - assumed


def count_missing_beside(cluster: Cluster, job: Job, others: Iterable[int]) -> int:
    """Return how many more members a tree of groups needs after ``others`` (rows) are placed too."""
    return count_lacking(job, count_by_group(cluster, job, others))


def count_lacking(job: Job, have: Counter[str]) -> int:
    """Return how many members a tree of groups lacks, in its groups or in all, if its groups have ``have`` members."""
    return max(count_missing(job.groups, have)[""], job.min_members - have.total())


def count_by_group(cluster: Cluster, job: Job, others: Iterable[int] = ()) -> Counter[str]:
    """Return, by group of a job's tree, the number of members that stay on machines, plus ``others`` (rows)."""
    tasks = cluster.tasks
    members = np.array(cluster.jobs.members(job.id), dtype=np.int64)
    state = tasks.state[members]
    there = ((state == int(TaskPhase.BOUND)) | (state == int(TaskPhase.ASSUMED))) & ~tasks.leaving[members]
    number, rows = tasks.cls, cluster.classes.rows
    found: Counter[str] = Counter()
    for cls in number[[*members[there].tolist(), *others]].tolist():
        found[rows[cls].content.group] += 1
    return found


def name_group(cluster: Cluster, row: int) -> str:
    """Return the name of a task's group in the tree of its job; "" if it is in none."""
    return cluster.classes.rows[int(cluster.tasks.cls[row])].content.group


def count_placed(cluster: Cluster, job_id: str) -> int:
    """Return how many members of a job are bound or assumed, and have not been asked to leave."""
    bound, assumed, _ = count_members(cluster, job_id)
    return bound + assumed


def describe_needs(job: Job) -> Hashable:
    """Return a key that is equal for gangs that need equal machines if their tasks are equal in number and classes."""
    return job.min_members, job.groups, job.least_room


def count_together(job: Job, held: int) -> int:
    """Return how many more members a gang must place together if ``held`` are on machines; groups in it are ignored."""
    return job.min_members - held


class GangProgress(NamedTuple):
    """The numbers of bound, assumed and leaving members of a gang, and whether they are enough.

    `count_members` says how members are counted.
    """

    bound: int
    assumed: int
    leaving: int
    is_placed: bool
    """Whether all members that the gang needs are bound or assumed."""
    is_bound: bool
    """Whether all members that the gang needs are bound."""


def find_progress(cluster: Cluster, job: Job) -> GangProgress:
    """Return the progress of a gang: its members by state, and whether as many as it needs are placed, or bound."""
    bound, assumed, leaving = count_members(cluster, job.id)
    if not job.groups:
        least = job.min_members
        return GangProgress(bound, assumed, leaving, bound + assumed >= least, bound >= least)
    is_placed = count_missing_members(cluster, job) <= 0
    return GangProgress(bound, assumed, leaving, is_placed, bound > 0 and _is_bound_tree(cluster, job))


def _is_bound_tree(cluster: Cluster, job: Job) -> bool:
    """Return whether all members that a tree of groups needs are bound."""
    tasks = cluster.tasks
    staying = list_staying_members(cluster, job.id)
    bound = staying[tasks.state[staying] == int(TaskPhase.BOUND)].tolist()
    have = Counter(name_group(cluster, row) for row in bound)
    return bool(bound) and count_lacking(job, have) <= 0


def list_staying_members(cluster: Cluster, job_id: str) -> Int64:
    """Return the rows of the members of a job that are on known machines and have not been asked to leave."""
    tasks = cluster.tasks
    members = np.array(cluster.jobs.members(job_id), dtype=np.int64)
    return members[(tasks.machine[members] >= 0) & ~tasks.leaving[members]]


def list_members_asked_to_leave(cluster: Cluster, job_id: str) -> Int64:
    """Return the rows of the members of a job that were asked to leave, but are not being deleted yet.

    The evictions of members that were asked to leave may still fail.
    """
    tasks = cluster.tasks
    members = np.array(cluster.jobs.members(job_id), dtype=np.int64)
    asked = members[(tasks.machine[members] >= 0) & tasks.leaving[members]]
    if not len(asked):
        return asked
    classes = cluster.classes.rows
    terminating = [classes[cls].content.terminating for cls in tasks.cls[asked].tolist()]
    return asked[~np.array(terminating, dtype=np.bool_)]


def list_able_members(cluster: Cluster, job: Job, now: float) -> list[int]:
    """Return the rows of the members of a gang that can be tried now, including unschedulable members."""
    tasks = cluster.tasks
    members = np.array(cluster.jobs.members(job.id), dtype=np.int64)
    able = (tasks.state[members] == int(TaskPhase.PENDING)) & ~tasks.refused[members]
    return members[able & (tasks.not_before[members] <= now)].tolist()


def lacks_members(cluster: Cluster, job: Job, now: float) -> bool:
    """Return whether a gang has fewer members that can be tried than it needs, beside those that have places."""
    able = list_able_members(cluster, job, now)
    if job.groups:
        return count_missing_beside(cluster, job, able) > 0
    return count_missing_members(cluster, job) > len(able)


def count_members(cluster: Cluster, job_id: str) -> tuple[int, int, int]:
    """Return how many members of a job are bound and staying, assumed and staying, and asked to leave."""
    tasks = cluster.tasks
    members = np.array(cluster.jobs.members(job_id), dtype=np.int64)
    leaving = tasks.leaving[members]
    bound = (tasks.state[members] == int(TaskPhase.BOUND)) & ~leaving
    assumed = (tasks.state[members] == int(TaskPhase.ASSUMED)) & ~leaving
    return int(bound.sum()), int(assumed.sum()), int(leaving.sum())


def find_leaving_groups(cluster: Cluster, job: Job, leaving: Sequence[int]) -> dict[str, bool]:
    """Return the groups of a gang that leave as a whole once the members ``leaving`` (rows) are evicted.

    The result maps each name ("" for a gang without groups) to whether other members of the group would stay on
    machines.
    """
    have = count_by_group(cluster, job)
    lost = Counter(name_group(cluster, row) for row in leaving)
    units = list_eviction_units(job, have)
    leaves = find_leaving_units(units, [sum(lost[name] for name in unit.groups) for unit in units])
    return {
        name: have[name] > lost[name]
        for unit, goes in zip(units, leaves, strict=True)
        for name in dict.fromkeys(unit.groups)
        if goes
    }


def breaks_up(cluster: Cluster, job: Job, leaving: Sequence[int]) -> bool:
    """Return whether evicting ``leaving`` (rows of members) would leave a useless part of a gang on machines.

    A part of a gang is useless if the gang, or its group in the gang, would lack members, or may be evicted only as a
    whole.
    """
    return any(find_leaving_groups(cluster, job, leaving).values())


def shrink(job: Job, members: int) -> Job:
    """Return a copy of a gang that needs ``members`` fewer members, but at least 1."""
    return replace(job, min_members=max(1, job.min_members - members))


class Surplus:
    """Holds back members that a gang does not need now, and keeps the messages for these members."""

    def __init__(self) -> None:
        self.untold: list[tuple[str, str]] = []

    def hold_back(self, cluster: Cluster, job: Job, able: list[int], need: int) -> list[int]:
        """Hold back the tasks in ``able`` (rows) beyond ``need``; return the others, which are the oldest."""
        tasks = cluster.tasks
        able = sorted(able, key=lambda row: (tasks.created[row], natural_key(tasks.name[row]), row))
        beyond = able[need:]
        waiting.hold_back(cluster, beyond)
        members = format_number(job.min_members, "member")
        text = f"beyond size: group {job.name or job.id} has its {members}; this pod waits until one of them leaves"
        self.untold += [(tasks.uid[row], text) for row in beyond]
        return able[:need]

    def hold_back_incomplete(
        self, cluster: Cluster, job: Job, able: list[int], need: int
    ) -> tuple[list[int], int]:
        """Hold back the tasks in ``able`` (rows) whose groups in the gang's tree lack members.

        Return the other tasks, and how many of them the tree needs; if the tree itself lacks members, this number
        exceeds the number of tasks.
        """
        have = count_by_group(cluster, job, able)
        if count_lacking(job, have) > 0:
            return able, len(able) + 1
        short = {each.name for each in job.groups} - list_whole(job.groups, have)
        beyond = [task for task in able if name_group(cluster, task) in short]
        if beyond:
            waiting.hold_back(cluster, beyond)
            start = f"gang {job.name or job.id} waits for members: "
            why = {name: start + explain_incomplete(job.groups, have, name) for name in short}
            self.untold += [(cluster.tasks.uid[task], why[name_group(cluster, task)]) for task in beyond]
            able = [task for task in able if name_group(cluster, task) not in short]
        return able, max(1, need) if able else 0

    def take_notices(self, cluster: Cluster) -> list[Unscheduled]:
        """Return the messages for held-back members that have not been reported yet, and forget them."""
        tasks = cluster.tasks
        news: dict[str, list[str]] = {}
        for uid, message in self.untold:
            row = tasks.row_of.get(uid)
            if row is not None and tasks.state[row] == TaskPhase.PENDING and tasks.message[row] != message:
                waiting.tell(cluster, [row], message)
                news.setdefault(message, []).append(uid)
        self.untold.clear()
        return [Unscheduled(tuple(uids), message) for message, uids in news.items()]


TRIES_IN_PLACE = 3
"""How often the solver tries to bind a member on one machine before the member loses this machine."""


class Rebinding:
    """Gang members that keep their machines until the solver tries their bindings again, after a back-off.

    ``came``: uid -> ``TaskTable.came`` of the member, which distinguishes this placement from a later one of the same
    task.
    """

    def __init__(self) -> None:
        self.came: dict[str, int] = {}

    def keeps_place(self, cluster: Cluster, task: int) -> bool:
        """Return whether a task whose binding was refused keeps its machine; if so, remember to bind it there again."""
        tasks = cluster.tasks
        job = cluster.jobs.gang(tasks.job[task])
        if job is None or tasks.machine[task] < 0 or tasks.failures[task] % TRIES_IN_PLACE == 0:
            return False
        self.came[tasks.uid[task]] = int(tasks.came[task])
        return True

    def due(self, cluster: Cluster, now: float) -> list[Delta]:
        """Return the deltas that bind members again on their machines, because their back-off has ended.

        A member whose machine no longer exists waits for another machine.
        """
        tasks = cluster.tasks
        deltas = []
        for uid in sorted(self.came):
            task = self._find_still_placed(cluster, uid)
            if task is None:
                del self.came[uid]
            elif tasks.machine[task] < 0:
                del self.came[uid]
                transitions.give_up_place(cluster, task)
            elif tasks.not_before[task] <= now:
                del self.came[uid]
                deltas.append(Delta(DeltaKind.PLACE, uid, cluster.where(task)))
        return deltas

    def next_in(self, cluster: Cluster, now: float) -> float | None:
        """Return the seconds until a member must be bound again; None if there are no members.

        Return 0 if a member has lost its machine.
        """
        waits = []
        for uid in self.came:
            task = self._find_still_placed(cluster, uid)
            if task is not None:
                lost = cluster.tasks.machine[task] < 0
                waits.append(0.0 if lost else max(0.0, float(cluster.tasks.not_before[task]) - now))
        return min(waits, default=None)

    def _find_still_placed(self, cluster: Cluster, uid: str) -> int | None:
        """Return the row of a task that is to be bound again; None if it is no longer on its machine."""
        tasks = cluster.tasks
        task = tasks.row_of.get(uid)
        same = (
            task is not None and tasks.state[task] == TaskPhase.ASSUMED and tasks.came[task] == self.came[uid]
        )
        return task if same else None


def hold_back_decisions(
    cluster: Cluster, preemption: PreemptionProblem, decided: Sequence[PreemptionDecision], guests: Int64
) -> tuple[list[PreemptionDecision], Bool]:
    """Return the decisions to keep, and bool[N], which these are.

    A decision is dropped if its task belongs to a gang that the decisions evict.

    ``guests``: int64[N], rows of the tasks for which the decisions evict others. If a kept decision also needs a
    victim of a dropped decision, the eviction moves to the kept decision. No victim is evicted for a dropped decision
    alone.
    """
    kept: Bool = np.ones(len(decided), dtype=np.bool_)
    going = _find_leaving_gangs(cluster, preemption, decided)
    if going:
        tasks = cluster.tasks
        of = [(tasks.job[row], name_group(cluster, row)) for row in guests.tolist()]
        kept = np.array([each not in going for each in of], dtype=np.bool_)
    return drop_decisions(decided, kept), kept


def drop_decisions(decided: Sequence[PreemptionDecision], kept: Bool) -> list[PreemptionDecision]:
    """Return the decisions that are ``kept`` (bool[N]), each with those victims of dropped decisions that it needs."""
    left = [each for each, keep in zip(decided, kept.tolist(), strict=True) if keep]
    for index in np.flatnonzero(~kept).tolist():
        _reassign_victims(decided[index], left)
    return left


def _find_leaving_gangs(
    cluster: Cluster, preemption: PreemptionProblem, decided: Sequence[PreemptionDecision]
) -> set[tuple[str, str]]:
    """Return (job, group) of all groups that the decisions evict as a whole.

    The group is "" for a gang without groups.
    """
    tasks, jobs = cluster.tasks, cluster.jobs
    if not jobs.gangs:
        return set()
    told: dict[str, list[int]] = {}
    for each in decided:
        for victim in each.evicts:
            row = int(preemption.row[victim])
            told.setdefault(tasks.job[row], []).append(row)
    return {
        (job_id, group)
        for job_id, rows in told.items()
        if (job := jobs.gang(job_id)) is not None
        for group in find_leaving_groups(cluster, job, rows)
    }


def _reassign_victims(lost: PreemptionDecision, left: list[PreemptionDecision]) -> None:
    """Move each victim of a dropped decision to the first kept decision that also needs its eviction."""
    for victim in lost.evicts:
        for index, other in enumerate(left):
            if victim in other.awaits:
                beyond = other.beyond | ({victim} & lost.beyond)
                left[index] = replace(other, evicts=(*other.evicts, victim), beyond=beyond)
                break


# --- Natural order of names: ``worker-2`` before ``worker-10``.


_DIGITS = re.compile(r"([0-9]+)")


def natural_key(name: str) -> tuple[tuple[str, int, str, str], ...]:
    """Return the key by which names are sorted: runs of digits as numbers, the rest as text."""
    parts = _DIGITS.split(name)
    texts, numbers = parts[::2], [*parts[1::2], ""]
    # Of two numbers without leading zeros, the longer one is larger.
    return tuple(
        (text, len(number.lstrip("0")) if number else -1, number.lstrip("0"), number)
        for text, number in zip(texts, numbers, strict=True)
    )
