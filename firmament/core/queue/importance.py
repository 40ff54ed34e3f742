"""Who is more important than whom: by priority, and among groups of equal priority by what their groups state.

Of equal priority a group may displace another one, but never a task outside groups, nor is it displaced by one. So two
numbers per task, both in one scale, say who may go for whom: a task's *standing* has to be below the other's *reach*.
Of tasks outside groups the reach is below, and the standing above, those of all groups of their priority.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import UNGROUPED, TaskTable

SYSTEM_CRITICAL = 2_000_000_000
"""From this priority on tasks belong to the system: nobody of the same priority displaces them (Kubernetes'
SystemCriticalPriority)."""


class Importance:
    """A scale for tasks with these group priorities (int64[N], ``UNGROUPED`` for none).

    Without any the numbers are the priorities. Group priorities that are not among them rank as the next lower one.
    """

    def __init__(self, group_priorities: Int64) -> None:
        grouped = group_priorities[group_priorities != UNGROUPED]
        self._levels = np.unique(grouped) if len(grouped) else grouped

    @classmethod
    def of(cls, tasks: TaskTable) -> Importance:
        """The scale of all tasks there are."""
        return cls(tasks.group_priority[: len(tasks.uid)])

    def order(self, priority: Int64, group_priority: Int64) -> Int64:
        """int64[N]: the higher, the earlier places are given out. Outside groups the priority counts for both."""
        if not len(self._levels):
            return priority
        return self._placed(
            priority, self._level(np.where(group_priority == UNGROUPED, priority, group_priority))
        )

    def reach(self, priority: Int64, group_priority: Int64) -> Int64:
        """int64[N]: tasks whose standing is lower may go for each."""
        if not len(self._levels):
            return priority
        level = np.where(group_priority == UNGROUPED, 0, self._level(group_priority))
        return self._placed(priority, level)

    def standing(self, priority: Int64, group_priority: Int64) -> Int64:
        """int64[N]: each may go for tasks whose reach is higher."""
        if not len(self._levels):
            return priority
        highest = (group_priority == UNGROUPED) | (priority >= SYSTEM_CRITICAL)
        return self._placed(priority, np.where(highest, len(self._levels), self._level(group_priority)))

    def reach_of(self, tasks: TaskTable, rows: Int64 | np.int64 | int) -> Int64:
        """int64[N]: the reach of tasks (rows)."""
        return self.reach(tasks.priority[rows], tasks.group_priority[rows])

    def standing_of(self, tasks: TaskTable, rows: Int64 | np.int64 | int) -> Int64:
        """int64[N]: the standing of tasks (rows)."""
        return self.standing(tasks.priority[rows], tasks.group_priority[rows])

    def _level(self, group_priority: Int64) -> Int64:
        level: Int64 = np.searchsorted(self._levels, group_priority, side="right").astype(np.int64)
        return level

    def _placed(self, priority: Int64, level: Int64) -> Int64:
        return priority * (len(self._levels) + 1) + level


def foremost(cluster: Cluster, waiting: Int64) -> Int64:
    """Rows of those in ``waiting`` for whom the same room is taken as for the most important of them.

    What a nominated task of another scheduler waits for is taken for tasks of its priority or less. Tasks above and
    below it cannot share a round, in which there is one amount of room; those below have the next one. Gangs go with
    their most important member.
    """
    if not len(waiting):
        return waiting
    tasks = cluster.tasks
    priority = tasks.priority[waiting]
    limit = cluster.promises.others.highest_below(int(priority.max()))
    if limit is None:
        return waiting
    ahead = priority > limit
    gangs = {tasks.job[row] for row in waiting[ahead].tolist()} & cluster.jobs.gangs
    with_gangs = np.array([tasks.job[row] in gangs for row in waiting.tolist()], dtype=np.bool_)
    return waiting[ahead | with_gangs]
