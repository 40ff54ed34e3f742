"""Checks the least resources that a gang states: while all machines together have less left, no member is tried."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.model import Job
from firmament.core.resources import NO_COLUMN
from firmament.core.rules.gangs.members import list_staying_members
from firmament.core.rules.node_unschedulable import find_open
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase


def list_lacking_resources(cluster: Cluster, job: Job, able: list[int], *, preempts: bool) -> list[str]:
    """Return the resources of which all open machines together have less left than the gang requires.

    What the gang's own members use counts as free. What less important tasks use counts as free too, if ``preempts``
    is True and some of ``able`` (rows of the members to be tried) may evict others.
    """
    machines = cluster.machines
    usable = find_open(machines)
    free = np.maximum(machines.capacity - machines.used, 0)
    owners = [list_staying_members(cluster, job.id)]
    peaceful = (
        cluster.classes.rows[cls].content.never_preempts for cls in {*cluster.tasks.cls[able].tolist()}
    )
    if preempts and not all(peaceful):
        owners.append(_list_less_important(cluster, int(cluster.tasks.priority[able].max())))
    for rows in owners:
        np.add.at(free, cluster.tasks.machine[rows], cluster.demand_of(cluster.tasks.cls[rows])[0])
    room = np.minimum(free, machines.capacity)[usable].astype(np.float64).sum(axis=0)
    columns = cluster.resources.columns(name for name, _ in job.least_room)
    return [
        name
        for (name, amount), column in zip(job.least_room, columns, strict=True)
        if amount > (0 if column == NO_COLUMN else room[column])
    ]


def _list_less_important(cluster: Cluster, priority: int) -> Int64:
    """Return the rows of bound tasks with a priority below ``priority`` that have not been asked to leave yet."""
    tasks = cluster.tasks
    bound = tasks.in_state(TaskPhase.BOUND)
    there = (tasks.machine[bound] >= 0) & ~tasks.leaving[bound]
    return bound[there & (tasks.priority[bound] < priority)]
