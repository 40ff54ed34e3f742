"""Says which tasks come first: by importance, which is the priority and then what the tasks' groups state.

Of equally important tasks, the oldest comes first (`TaskTable.sort_by_age`); `TaskGroups.rank_groups` also compares
fair shares and quality of service. ``fair_shares.py`` computes the levels of fair shares, and ``namespace_turns.py``
lets namespaces take turns.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import UNGROUPED, TaskPhase, TaskTable

SYSTEM_CRITICAL = 2_000_000_000
"""Tasks with at least this priority belong to the system: no task of equal priority evicts them (Kubernetes'
SystemCriticalPriority)."""


class Importance:
    """A scale of importance for tasks, by their priorities and the priorities of their groups.

    ``group_priorities``: int64[N], ``UNGROUPED`` for a task without a group.

    If no task has a group priority, the importance is the priority. A group priority that is not in
    ``group_priorities`` ranks like the highest one below it that is.
    """

    def __init__(self, group_priorities: Int64) -> None:
        grouped = group_priorities[group_priorities != UNGROUPED]
        self._levels = np.unique(grouped) if len(grouped) else grouped

    @classmethod
    def from_tasks(cls, tasks: TaskTable) -> Importance:
        """Return an ``Importance`` whose levels are the group priorities of all existing tasks."""
        return cls(tasks.group_priorities)

    def rank_waiting(self, priority: Int64, group_priority: Int64) -> Int64:
        """Return the importance of tasks: int64[N]; the highest are placed first.

        If a task has no group, its priority counts as that of its group.
        """
        if not len(self._levels):
            return priority
        return self._find_places(
            priority, self._level(np.where(group_priority == UNGROUPED, priority, group_priority))
        )

    def rank_as_preemptor(self, priority: Int64, group_priority: Int64) -> Int64:
        """Return the rank of each task if it needs a place: int64[N].

        A task may evict the tasks whose ``rank_as_victim`` is below this rank.
        """
        if not len(self._levels):
            return priority
        level = np.where(group_priority == UNGROUPED, 0, self._level(group_priority))
        return self._find_places(priority, level)

    def rank_as_victim(self, priority: Int64, group_priority: Int64) -> Int64:
        """Return the rank of each task if others need its place: int64[N].

        Other tasks may evict a task if their ``rank_as_preemptor`` is above this rank.
        """
        if not len(self._levels):
            return priority
        highest = (group_priority == UNGROUPED) | (priority >= SYSTEM_CRITICAL)
        return self._find_places(priority, np.where(highest, len(self._levels), self._level(group_priority)))

    def rank_preemptors(self, tasks: TaskTable, rows: Int64 | np.int64 | int) -> Int64:
        """Return ``rank_as_preemptor`` of tasks (rows): int64[N]."""
        return self.rank_as_preemptor(tasks.priority[rows], tasks.group_priority[rows])

    def rank_victims(self, tasks: TaskTable, rows: Int64 | np.int64 | int) -> Int64:
        """Return ``rank_as_victim`` of tasks (rows): int64[N]."""
        return self.rank_as_victim(tasks.priority[rows], tasks.group_priority[rows])

    def _level(self, group_priority: Int64) -> Int64:
        level: Int64 = np.searchsorted(self._levels, group_priority, side="right").astype(np.int64)
        return level

    def _find_places(self, priority: Int64, level: Int64) -> Int64:
        return priority * (len(self._levels) + 1) + level


def select_foremost(cluster: Cluster, waiting: Int64) -> tuple[Int64, int | None]:
    """Return those of the ``waiting`` tasks (rows) that can share a round with the most important task.

    Also return the priority that all returned tasks exceed; None if all waiting tasks are returned.

    Capacity may be kept for a nominated task of another scheduler, or for a gang that restarts; the capacity is then
    closed to tasks of at most the same priority. Tasks above and below the priority of kept capacity cannot share a
    round, because a round counts one amount as free for all its tasks. Tasks of at most that priority take part in a
    later round (``firmament.core.requeue.turns``). A gang counts with the priority of its most important member.
    """
    if not len(waiting):
        return waiting, None
    priority = count_gangs_alike(cluster, waiting)
    highest = int(priority.max())
    found = cluster.promises.others.highest_below(highest), cluster.restarts.highest_below(highest)
    limit = max((each for each in found if each is not None), default=None)
    return (waiting, None) if limit is None else (waiting[priority > limit], limit)


def count_gangs_alike(cluster: Cluster, waiting: Int64) -> Int64:
    """Return the priority of each of the ``waiting`` tasks (rows), equal for all members of a gang: int64[N].

    Each member gets the priority of the most important waiting member of its gang.
    """
    tasks, priority = cluster.tasks, cluster.tasks.priority[waiting]
    jobs = [tasks.job[row] for row in waiting.tolist()] if cluster.jobs.gangs else []
    concerned = cluster.jobs.gangs & set(jobs)
    if not concerned:
        return priority
    highest = dict[str, int]()
    members = [row for job in concerned for row in cluster.jobs.members(job)]
    pending = [row for row in members if tasks.state[row] == TaskPhase.PENDING]
    for row in (*pending, *waiting.tolist()):
        highest[tasks.job[row]] = max(int(tasks.priority[row]), highest.get(tasks.job[row], UNGROUPED))
    return np.array(
        [
            highest[job] if job in concerned else alone
            for job, alone in zip(jobs, priority.tolist(), strict=True)
        ],
        dtype=np.int64,
    )
