"""Stores how a driver describes a task: class, name, rank, job, group, times.

No function of this module changes a task's state.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.events import TasksBound, TasksSubmitted
from firmament.core.state import waiting
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import UNGROUPED


def describe(cluster: Cluster, task: int, cls: int, event: TasksSubmitted, index: int) -> None:
    """Describe a pending task anew, as the ``index``-th task of an event, with class row ``cls``.

    If the description differs, the task is tried again, even if it was refused for good.
    """
    tasks = cluster.tasks
    # The call of ``rank`` comes first, so that the ``or`` does not skip it.
    reranked = rank(cluster, task, event)
    changed = reranked or tasks.cls[task] != cls or tasks.refused[task]
    tasks.cls[task] = cls
    rename(cluster, task, event, index)
    enlist(cluster, task, event.job)
    regroup(cluster, task, event.spread_group)
    if changed:
        waiting.reconsider(cluster, task)


def rank(cluster: Cluster, task: int, event: TasksSubmitted | TasksBound) -> bool:
    """Store the importance of a task that an event states; return whether it has changed."""
    tasks = cluster.tasks
    group_priority = UNGROUPED if event.group_priority is None else event.group_priority
    before = int(tasks.priority[task]), int(tasks.group_priority[task])
    tasks.priority[task], tasks.group_priority[task] = event.priority, group_priority
    tasks.note_groups(group_priority)
    return before != (event.priority, group_priority)


def rename(cluster: Cluster, task: int, event: TasksSubmitted | TasksBound, index: int) -> None:
    """Store the name of the ``index``-th task of an event."""
    cluster.tasks.name[task] = event.names[index] if event.names else event.uids[index]


def enlist(cluster: Cluster, task: int, job: str) -> None:
    """Assign a task to a job. A gang that waits for members is tried again when a member arrives."""
    tasks = cluster.tasks
    if tasks.job[task] != job:
        cluster.jobs.discharge(task, tasks.job[task])
        tasks.job[task] = job
        tasks.revised[task] = True
        tasks.unschedulable[task] = tasks.refused[task]
    cluster.jobs.enlist(task, job)
    if cluster.jobs.gang(job) is not None and tasks.revised[task]:
        waiting.activate_members(cluster, job)


def regroup(cluster: Cluster, task: int, group: str) -> None:
    """Assign a task to a spread group; "" for none."""
    number = cluster.spread_groups.join(group)
    cluster.spread_groups.leave(int(cluster.tasks.spread[task]))
    cluster.tasks.spread[task] = number


def group_new(cluster: Cluster, rows: Int64, groups: Sequence[str], sizes: Sequence[int]) -> None:
    """Assign new tasks (int64[N] rows) to spread groups: the first ``sizes[0]`` to the first group, and so on."""
    joined = [cluster.spread_groups.join(group, size) for group, size in zip(groups, sizes, strict=True)]
    cluster.tasks.spread[rows] = np.repeat(joined, sizes)


def store_stated_times(cluster: Cluster, task: int, event: TasksBound, index: int) -> None:
    """Store those of a task's times that an event states."""
    if event.assigned and event.assigned[index]:
        cluster.tasks.assigned[task] = event.assigned[index]
        cluster.tasks.dated[task] = True
    if event.initialized:
        cluster.tasks.initialized[task] = event.initialized[index]
    if event.created:
        cluster.tasks.created[task] = event.created[index]


def store_times(cluster: Cluster, rows: Int64, assigned: Float64 | None, initialized: Float64 | None) -> None:
    """Store when tasks (int64[N] rows) got their machines and when they were initialized: float64[N] each.

    None: the times are unknown for all tasks. A time of 0 in ``assigned`` is unknown.
    """
    tasks = cluster.tasks
    if assigned is not None:
        known = assigned != 0
        tasks.assigned[rows[known]] = assigned[known]
        tasks.dated[rows[known]] = True
    if initialized is not None:
        tasks.initialized[rows] = initialized


def describe_bound(cluster: Cluster, task: int) -> TasksBound:
    """Return the event by which a driver would report a bound task anew.

    The event's class number is 0: the caller must set the class.
    """
    tasks = cluster.tasks
    group = int(tasks.group_priority[task])
    return TasksBound(
        machine=cluster.where(task),
        task_class=0,
        uids=(tasks.uid[task],),
        names=(tasks.name[task],),
        priority=int(tasks.priority[task]),
        job=tasks.job[task],
        assigned=(float(tasks.assigned[task]),),
        initialized=(float(tasks.initialized[task]),),
        created=(float(tasks.created[task]),),
        group_priority=None if group == UNGROUPED else group,
        spread_group=cluster.spread_groups.by_code[tasks.spread[task]],
    )
