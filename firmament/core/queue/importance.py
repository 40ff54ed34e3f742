"""Compares tasks by importance: by priority and, if priorities are equal, by what their groups state.

If capacity does not suffice for all, fair shares of namespaces decide among tasks of equal priority.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.configuration import FairShare
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

    def order(self, priority: Int64, group_priority: Int64) -> Int64:
        """Return the importance of tasks: int64[N]; the highest are placed first.

        If a task has no group, its priority counts as that of its group.
        """
        if not len(self._levels):
            return priority
        return self._find_places(
            priority, self._level(np.where(group_priority == UNGROUPED, priority, group_priority))
        )

    def reach(self, priority: Int64, group_priority: Int64) -> Int64:
        """Return the reach of each task: int64[N].

        A task may evict the tasks whose ``standing`` is below its reach.
        """
        if not len(self._levels):
            return priority
        level = np.where(group_priority == UNGROUPED, 0, self._level(group_priority))
        return self._find_places(priority, level)

    def standing(self, priority: Int64, group_priority: Int64) -> Int64:
        """Return the standing of each task: int64[N].

        Other tasks may evict a task if their ``reach`` is above the task's standing.
        """
        if not len(self._levels):
            return priority
        highest = (group_priority == UNGROUPED) | (priority >= SYSTEM_CRITICAL)
        return self._find_places(priority, np.where(highest, len(self._levels), self._level(group_priority)))

    def reach_of(self, tasks: TaskTable, rows: Int64 | np.int64 | int) -> Int64:
        """Return the reach of tasks (rows), int64[N]: tasks may evict others whose standing is lower."""
        return self.reach(tasks.priority[rows], tasks.group_priority[rows])

    def standing_of(self, tasks: TaskTable, rows: Int64 | np.int64 | int) -> Int64:
        """Return the standing of tasks (rows), int64[N]: tasks with a higher reach may evict them."""
        return self.standing(tasks.priority[rows], tasks.group_priority[rows])

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


# --- Fair shares of the cluster among namespaces, if capacity does not suffice for all. Each namespace that uses or
# wants something is entitled to a part of the cluster in proportion to its weight. What a namespace does not want is
# divided among the others (weighted max-min fairness over dominant shares: Ghodsi et al., Dominant Resource Fairness,
# NSDI 2011). Among waiting tasks of equal priority, those within the share of their namespace come before those
# beyond it. Tasks beyond the share are placed too as long as they fit, so no capacity stays idle, and no task is
# evicted for fair shares. As tasks end, the shares in use therefore approach the weights.


def share_levels(cluster: Cluster, fair_share: FairShare, waiting: Int64) -> Int64:
    """Return whether each of the ``waiting`` tasks (rows) is within its namespace's fair share: int64[N].

    2: the task is within its namespace's share by weight, given all that other namespaces want, even if their tasks
    fit nowhere now. A namespace thus keeps its claim to a share while its tasks are unschedulable. 1: the task is
    within its namespace's share only if other namespaces get no more than their tasks in this round want. 0: the task
    is beyond the share. Within a namespace, the most important and longest waiting tasks count first.
    """
    tasks = cluster.tasks
    names, of_class = _namespaces(cluster)
    capacity = np.maximum(cluster.machines.capacity, 0).sum(axis=0).astype(np.float64)
    on = np.flatnonzero(tasks.machine[: len(tasks.uid)] >= 0)
    pending = tasks.in_state(TaskPhase.PENDING)
    used = _amounts(cluster, on, of_class, len(names))
    weights = np.array([fair_share.weight(name) for name in names])
    per_task = _dominant(cluster.demand_of(tasks.cls[waiting])[0], capacity)
    order = np.lexsort((tasks.sequence[waiting], tasks.created[waiting], -tasks.priority[waiting]))
    namespace = of_class[tasks.cls[waiting]]
    levels = np.zeros(len(waiting), dtype=np.int64)
    for level, claims in ((1, waiting), (2, pending[~tasks.refused[pending]])):
        wanted = used + _amounts(cluster, claims, of_class, len(names))
        allowance = _targets(_dominant(wanted, capacity), weights) - _dominant(used, capacity)
        for each in np.unique(namespace).tolist():
            rows = order[namespace[order] == each]
            # The task that crosses the limit counts as within the share if more than half of the task is below the
            # limit.
            within = np.cumsum(per_task[rows]) - per_task[rows] / 2 < allowance[each]
            levels[rows[within]] = level
    return levels


def _namespaces(cluster: Cluster) -> tuple[list[str], Int64]:
    """Return the names of all namespaces, and int64[classes]: the index of each class's namespace."""
    index: dict[str, int] = {}
    of_class = [index.setdefault(row.content.namespace, len(index)) for row in cluster.classes.rows]
    return list(index), np.array(of_class, dtype=np.int64)


def _amounts(cluster: Cluster, rows: Int64, of_class: Int64, namespaces: int) -> Float64:
    """Return what the tasks ``rows`` of each namespace request in all: float64[namespaces, K]."""
    total = np.zeros((namespaces, len(cluster.resources)))
    classes = cluster.tasks.cls[rows]
    np.add.at(total, of_class[classes], cluster.demand_of(classes)[0])
    return total


def _dominant(amounts: Float64 | Int64, capacity: Float64) -> Float64:
    """Return the largest share that amounts have of any of the cluster's resources (the dominant share): float64[N]."""
    offered = capacity > 0
    if not offered.any():
        return np.zeros(len(amounts))
    shares: Float64 = (amounts[:, offered] / capacity[offered]).max(axis=1)
    return shares


def _targets(wanted: Float64, weights: Float64) -> Float64:
    """Return the weighted max-min fair division of one cluster among namespaces; ``wanted``: dominant shares."""
    targets = np.zeros_like(wanted)
    left, open_to = 1.0, wanted > 0
    while open_to.any() and left > 0:
        offer = left * weights * open_to / weights[open_to].sum()
        content = open_to & (wanted - targets <= offer)
        if not content.any():
            return targets + offer
        left -= float((wanted - targets)[content].sum())
        targets[content] = wanted[content]
        open_to &= ~content
    return targets
