"""Examines the members of a gang: how many are on machines, and which are to be tried or held back.

A running gang may have further tasks that wait; each is placed on its own. A round may evict a whole gang for more
important tasks and also place one of the gang's own tasks. Then the placed task is held back, so that no part of the
gang remains (`hold_back_decisions`).
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
from firmament.core.rules.gangs.disruption import find_leaving_units, list_eviction_units
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase, TaskTable
from firmament.core.tree_solver.nested.lacking import count_missing


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
    there = find_staying(tasks, members)
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
    return members[find_able(tasks, members, now)].tolist()


def find_able(tasks: TaskTable, rows: Int64, now: float) -> Bool:
    """Return which tasks (int64[N] rows) wait and can be tried now, including unschedulable tasks: bool[N]."""
    pending = tasks.state[rows] == int(TaskPhase.PENDING)
    return pending & ~tasks.refused[rows] & (tasks.not_before[rows] <= now)


def find_staying(tasks: TaskTable, rows: Int64) -> Bool:
    """Return which tasks (int64[N] rows) are bound or assumed, and have not been asked to leave: bool[N]."""
    state = tasks.state[rows]
    return ((state == int(TaskPhase.BOUND)) | (state == int(TaskPhase.ASSUMED))) & ~tasks.leaving[rows]


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


def hold_back_decisions(
    cluster: Cluster, preemption: PreemptionProblem, decided: Sequence[PreemptionDecision], preemptors: Int64
) -> tuple[list[PreemptionDecision], Bool]:
    """Return the decisions to keep, and bool[N], which these are.

    A decision is dropped if its task belongs to a gang that the decisions evict.

    ``preemptors``: int64[N], rows of the tasks for which the decisions evict others. If a kept decision also needs a
    victim of a dropped decision, the eviction moves to the kept decision. No victim is evicted for a dropped decision
    alone.
    """
    kept: Bool = np.ones(len(decided), dtype=np.bool_)
    going = _find_leaving_gangs(cluster, preemption, decided)
    if going:
        tasks = cluster.tasks
        of = [(tasks.job[row], name_group(cluster, row)) for row in preemptors.tolist()]
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
    rows_by_job: dict[str, list[int]] = {}
    for each in decided:
        for victim in each.evicts:
            row = int(preemption.row[victim])
            rows_by_job.setdefault(tasks.job[row], []).append(row)
    return {
        (job_id, group)
        for job_id, rows in rows_by_job.items()
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
