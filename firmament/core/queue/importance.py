"""Compares tasks by importance: by priority and, within equal priority, by what their groups state.

If there is not enough room for all, fair shares of namespaces decide among tasks of equal priority.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.configuration import FairShare
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import UNGROUPED, TaskPhase, TaskTable

SYSTEM_CRITICAL = 2_000_000_000
"""From this priority on, tasks belong to the system: no task of the same priority displaces them (Kubernetes'
SystemCriticalPriority)."""


class Importance:
    """A scale of the importance of tasks that have these group priorities (int64[N], ``UNGROUPED`` for tasks without).

    Without group priorities, the numbers are the priorities. A group priority that is not given ranks as the next lower
    one.
    """

    def __init__(self, group_priorities: Int64) -> None:
        grouped = group_priorities[group_priorities != UNGROUPED]
        self._levels = np.unique(grouped) if len(grouped) else grouped

    @classmethod
    def from_tasks(cls, tasks: TaskTable) -> Importance:
        """Return an ``Importance`` whose levels are the group priorities of all existing tasks."""
        return cls(tasks.group_priorities)

    def order(self, priority: Int64, group_priority: Int64) -> Int64:
        """Return the importance of tasks, of which the highest get places first: int64[N]; without a group, the
        priority counts as the group's.
        """
        if not len(self._levels):
            return priority
        return self._find_places(
            priority, self._level(np.where(group_priority == UNGROUPED, priority, group_priority))
        )

    def reach(self, priority: Int64, group_priority: Int64) -> Int64:
        """Return for each task the standing below which it may evict other tasks: int64[N]."""
        if not len(self._levels):
            return priority
        level = np.where(group_priority == UNGROUPED, 0, self._level(group_priority))
        return self._find_places(priority, level)

    def standing(self, priority: Int64, group_priority: Int64) -> Int64:
        """Return for each task the reach above which other tasks may evict it: int64[N]."""
        if not len(self._levels):
            return priority
        highest = (group_priority == UNGROUPED) | (priority >= SYSTEM_CRITICAL)
        return self._find_places(priority, np.where(highest, len(self._levels), self._level(group_priority)))

    def reach_of(self, tasks: TaskTable, rows: Int64 | np.int64 | int) -> Int64:
        """Return the reach of tasks (rows): int64[N]."""
        return self.reach(tasks.priority[rows], tasks.group_priority[rows])

    def standing_of(self, tasks: TaskTable, rows: Int64 | np.int64 | int) -> Int64:
        """Return the standing of tasks (rows): int64[N]."""
        return self.standing(tasks.priority[rows], tasks.group_priority[rows])

    def _level(self, group_priority: Int64) -> Int64:
        level: Int64 = np.searchsorted(self._levels, group_priority, side="right").astype(np.int64)
        return level

    def _find_places(self, priority: Int64, level: Int64) -> Int64:
        return priority * (len(self._levels) + 1) + level


def select_foremost(cluster: Cluster, waiting: Int64) -> tuple[Int64, int | None]:
    """Return the ``waiting`` tasks (rows) for which as much room counts as free as for the most important of them, and
    the priority above which these are, None if they are all.

    The room for which a nominated task of another scheduler waits, or that is kept for a gang that restarts, is closed
    to tasks of at most its priority. Tasks above and below it cannot share a round, which has one amount of room; those
    below take part in a later one (``firmament.core.requeue.turns``). Gangs go by their most important member.
    """
    if not len(waiting):
        return waiting, None
    priority = count_gangs_alike(cluster, waiting)
    highest = int(priority.max())
    found = cluster.promises.others.highest_below(highest), cluster.restarts.highest_below(highest)
    limit = max((each for each in found if each is not None), default=None)
    return (waiting, None) if limit is None else (waiting[priority > limit], limit)


def count_gangs_alike(cluster: Cluster, waiting: Int64) -> Int64:
    """Return the priority of each of the ``waiting`` tasks (rows), for members of a gang that of its most important
    member that waits: int64[N].
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


# --- Fair shares of the cluster among namespaces, if there is not enough room for all.
#
# Each namespace that uses or wants something is entitled to a part of the cluster in proportion to its weight; what a
# namespace does not want is divided among the others (weighted max-min fairness over dominant shares: Ghodsi et al.,
# Dominant Resource Fairness, NSDI 2011). Within equal priority, waiting tasks within their namespace's share come
# before those beyond it. Tasks beyond the share are also placed as long as there is room, so nothing stays idle, and no
# task is evicted. So shares approach the weights as tasks end.


def share_levels(cluster: Cluster, fair_share: FairShare, waiting: Int64) -> Int64:
    """Return for each of the ``waiting`` tasks (rows) whether it is within its namespace's fair share: int64[N].

    2: within the share that its namespace has by its weight, given all that others want, even if it fits nowhere now,
    so that no namespace loses a claim while its tasks are unschedulable. 1: within the namespace's share if others get
    no more than what waits in this round. 0: beyond. Within a namespace, the most important and longest waiting tasks
    count first.
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
            # The task that crosses the limit counts as within it if more than half of the task is.
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
    """Return the largest share that amounts have of any of the cluster's resources: float64[N]."""
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
