"""The members of a gang: how many are where, and which can be tried, bound again or must be held back.

- A group with rules may have members beyond its size: they wait until one of the others leaves (`Surplus`).
- A member whose binding was refused is bound again where it is, some times, before it loses the place (`Rebinding`).
- A gang that runs as a whole may have further tasks waiting, each for a place of its own. If more important tasks make
  the gang go as a whole in the very round in which such a task finds a place, the place is not given, so that no half
  of a gang is left (`hold_back_decisions`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.model import Job
from firmament.core.preemption.problem import PreemptionDecision, PreemptionProblem
from firmament.core.reasons import format_number
from firmament.core.results import Delta, DeltaKind, Unscheduled
from firmament.core.state import transitions, waiting
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase
from firmament.core.tree_solver.nested.lacking import count_missing, explain_incomplete, list_whole


def lacking(cluster: Cluster, job: Job) -> int:
    """Return how many more members a gang needs on machines; those that have been told to go do not count."""
    if job.groups:
        return lacking_beside(cluster, job, ())
    bound, assumed, _ = count_members(cluster, job.id)
    return job.min_members - bound - assumed


def lacking_beside(cluster: Cluster, job: Job, others: Iterable[int]) -> int:
    """Return how many more members a tree of groups needs once ``others`` (rows) are on machines, too."""
    return count_lacking(job, count_by_group(cluster, job, others))


def count_lacking(job: Job, have: Counter[str]) -> int:
    """Return how many members a tree of groups lacks with ``have`` in each group: of some group, or in all."""
    return max(count_missing(job.groups, have)[""], job.min_members - have.total())


def count_by_group(cluster: Cluster, job: Job, others: Iterable[int] = ()) -> Counter[str]:
    """Return how many members each group of a job's tree has on machines and stay there, with ``others`` (rows)."""
    tasks = cluster.tasks
    members = np.array(cluster.jobs.members(job.id), dtype=np.int64)
    state = tasks.state[members]
    there = ((state == int(TaskPhase.BOUND)) | (state == int(TaskPhase.ASSUMED))) & ~tasks.leaving[members]
    return Counter(name_group(cluster, row) for row in (*members[there].tolist(), *others))


def name_group(cluster: Cluster, row: int) -> str:
    """Return the name of a task's group in the tree of its job, "" for none."""
    return cluster.classes.rows[int(cluster.tasks.cls[row])].content.group


def count_placed(cluster: Cluster, job_id: str) -> int:
    """Return how many members of a job are bound or assumed, and have not been told to go."""
    bound, assumed, _ = count_members(cluster, job_id)
    return bound + assumed


def count_together(job: Job, held: int) -> int:
    """Return how many further members of a gang go together if so many are on machines, whatever groups they are in."""
    return job.min_members - held


def is_bound_whole(cluster: Cluster, job: Job) -> bool:
    """Return whether all that a gang needs is bound."""
    if job.groups:
        tasks = cluster.tasks
        staying = staying_members(cluster, job.id)
        bound = staying[tasks.state[staying] == int(TaskPhase.BOUND)].tolist()
        have = Counter(name_group(cluster, row) for row in bound)
        return bool(bound) and count_lacking(job, have) <= 0
    return count_members(cluster, job.id)[0] >= job.min_members


def staying_members(cluster: Cluster, job_id: str) -> Int64:
    """Return rows of the members of a job that are on known machines, and have not been told to go."""
    tasks = cluster.tasks
    members = np.array(cluster.jobs.members(job_id), dtype=np.int64)
    return members[(tasks.machine[members] >= 0) & ~tasks.leaving[members]]


def able_members(cluster: Cluster, job: Job, now: float) -> list[int]:
    """Return rows of the members of a gang that could be tried now, unschedulable ones included."""
    tasks = cluster.tasks
    members = np.array(cluster.jobs.members(job.id), dtype=np.int64)
    able = (tasks.state[members] == int(TaskPhase.PENDING)) & ~tasks.refused[members]
    return members[able & (tasks.not_before[members] <= now)].tolist()


def count_members(cluster: Cluster, job_id: str) -> tuple[int, int, int]:
    """Return members of a job that are bound to stay, assumed, and told to go."""
    tasks = cluster.tasks
    members = np.array(cluster.jobs.members(job_id), dtype=np.int64)
    leaving = tasks.leaving[members]
    bound = (tasks.state[members] == int(TaskPhase.BOUND)) & ~leaving
    assumed = (tasks.state[members] == int(TaskPhase.ASSUMED)) & ~leaving
    return int(bound.sum()), int(assumed.sum()), int(leaving.sum())


def count_spare(job: Job, members: int) -> int:
    """Return how many of so many members on machines may be evicted before the gang goes as a whole."""
    return 0 if job.disrupted_whole or job.groups else max(0, members - job.min_members)


def breaks_up(cluster: Cluster, job: Job, leaving: int) -> bool:
    """Return whether evicting ``leaving`` more members would leave some on machines, although the gang would then lack
    members or may be evicted only as a whole.
    """
    staying = count_placed(cluster, job.id) - leaving
    return staying > 0 and (job.disrupted_whole or staying < job.min_members)


def shrink(job: Job, members: int) -> Job:
    """Return a gang that needs so many members fewer."""
    return replace(job, min_members=max(1, job.min_members - members))


class Surplus:
    """The members that are held back, and the message for them."""

    def __init__(self) -> None:
        self.untold: list[tuple[str, str]] = []

    def hold_back(self, cluster: Cluster, job: Job, able: list[int], need: int) -> list[int]:
        """Hold back the tasks in ``able`` (rows) beyond ``need``; returns the others, those that came first."""
        tasks = cluster.tasks
        able = sorted(able, key=lambda row: (tasks.created[row], natural_key(tasks.name[row]), row))
        beyond = able[need:]
        waiting.hold_back(cluster, beyond)
        members = format_number(job.min_members, "member")
        text = f"beyond the size of group {job.name or job.id}, which has its {members}"
        self.untold += [(tasks.uid[row], text) for row in beyond]
        return able[:need]

    def hold_back_incomplete(
        self, cluster: Cluster, job: Job, able: list[int], need: int
    ) -> tuple[list[int], int]:
        """Hold back the tasks in ``able`` (rows) whose groups in a tree lack others; returns those that are left, and
        how many of them the tree needs: more than there are if it lacks some itself.
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
        """Return new messages for members, once."""
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
"""Bindings of a member that are tried on one machine before the place is given up."""


class Rebinding:
    """The members that keep their places until their bindings are tried again, after a back-off.

    ``came``: by uid, the place of each in the order of arrivals.
    """

    def __init__(self) -> None:
        self.came: dict[str, int] = {}

    def keeps_place(self, cluster: Cluster, task: int) -> bool:
        """Return whether a task whose binding was refused is a member to be bound again where it is, after
        its back-off.
        """
        tasks = cluster.tasks
        job = cluster.jobs.gang(tasks.job[task])
        if job is None or tasks.machine[task] < 0 or tasks.failures[task] % TRIES_IN_PLACE == 0:
            return False
        self.came[tasks.uid[task]] = int(tasks.came[task])
        return True

    def due(self, cluster: Cluster, now: float) -> list[Delta]:
        """Return bindings of members that are to be tried again in their places.

        A member whose machine has gone meanwhile has lost its place, and waits for another one.
        """
        tasks = cluster.tasks
        deltas = []
        for uid in sorted(self.came):
            task = self._still_placed(cluster, uid)
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
        """Return seconds until a member is to be bound again, or has lost its place; None if there is none."""
        waits = []
        for uid in self.came:
            task = self._still_placed(cluster, uid)
            if task is not None:
                lost = cluster.tasks.machine[task] < 0
                waits.append(0.0 if lost else max(0.0, float(cluster.tasks.not_before[task]) - now))
        return min(waits, default=None)

    def _still_placed(self, cluster: Cluster, uid: str) -> int | None:
        """Return row of a task whose binding is to be tried again, None if it has not stayed in its place
        since.
        """
        tasks = cluster.tasks
        task = tasks.row_of.get(uid)
        same = (
            task is not None and tasks.state[task] == TaskPhase.ASSUMED and tasks.came[task] == self.came[uid]
        )
        return task if same else None


def hold_back_decisions(
    cluster: Cluster, preemption: PreemptionProblem, decided: Sequence[PreemptionDecision], guests: Int64
) -> tuple[list[PreemptionDecision], Bool]:
    """Return the decisions without those for tasks (``guests``, int64[N] rows) whose gang goes, and which are
    left: bool[N].

    If several tasks need a victim, the eviction is recorded for one of those that stay; no victim is evicted only for a
    task that is held back.
    """
    kept: Bool = np.ones(len(decided), dtype=np.bool_)
    going = _going(cluster, preemption, decided)
    if going:
        kept = np.array([cluster.tasks.job[int(guest)] not in going for guest in guests], dtype=np.bool_)
    left = [each for each, keep in zip(decided, kept.tolist(), strict=True) if keep]
    for index in np.flatnonzero(~kept).tolist():
        _hand_over(decided[index], left)
    return left, kept


def _going(
    cluster: Cluster, preemption: PreemptionProblem, decided: Sequence[PreemptionDecision]
) -> set[str]:
    """Return gangs that would lose all their members."""
    tasks, jobs = cluster.tasks, cluster.jobs
    if not jobs.gangs:
        return set()
    told: dict[str, int] = {}
    for each in decided:
        for victim in each.evicts:
            job_id = tasks.job[int(preemption.row[victim])]
            told[job_id] = told.get(job_id, 0) + 1
    return {
        job_id
        for job_id, count in told.items()
        if jobs.gang(job_id) is not None and count_placed(cluster, job_id) <= count
    }


def _hand_over(lost: PreemptionDecision, left: list[PreemptionDecision]) -> None:
    """Let the first that counts on them as well tell the victims of a decision that is dropped."""
    for victim in lost.evicts:
        for index, other in enumerate(left):
            if victim in other.awaits:
                beyond = other.beyond | ({victim} & lost.beyond)
                left[index] = replace(other, evicts=(*other.evicts, victim), beyond=beyond)
                break


# --- Names in the order that people expect: ``worker-2`` before ``worker-10``.


_DIGITS = re.compile(r"([0-9]+)")


def natural_key(name: str) -> tuple[tuple[str, int, str, str], ...]:
    """Return what names sort by: runs of digits as numbers, the rest as text."""
    parts = _DIGITS.split(name)
    texts, numbers = parts[::2], [*parts[1::2], ""]
    # Of two numbers without leading zeros the longer one is larger.
    return tuple(
        (text, len(number.lstrip("0")) if number else -1, number.lstrip("0"), number)
        for text, number in zip(texts, numbers, strict=True)
    )
