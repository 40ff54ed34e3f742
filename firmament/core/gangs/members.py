"""The members of a gang: how many of them are where, and which can be tried."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.model import Job
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import State


def lacking(cluster: Cluster, job: Job) -> int:
    """How many more members a gang needs on machines; those that have been told to go do not count."""
    tasks = cluster.tasks
    members = np.array(cluster.jobs.members(job.id), dtype=np.int64)
    state = tasks.state[members]
    on = ((state == int(State.ASSUMED)) | (state == int(State.BOUND))) & ~tasks.leaving[members]
    return job.min_members - int(np.count_nonzero(on))


def staying_members(cluster: Cluster, job_id: str) -> Int64:
    """Rows of the members of a job that are on known machines, and have not been told to go."""
    tasks = cluster.tasks
    members = np.array(cluster.jobs.members(job_id), dtype=np.int64)
    return members[(tasks.machine[members] >= 0) & ~tasks.leaving[members]]


def able_members(cluster: Cluster, job: Job, now: float) -> list[int]:
    """Rows of the members of a gang that could be tried now, parked ones included."""
    tasks = cluster.tasks
    members = np.array(cluster.jobs.members(job.id), dtype=np.int64)
    able = (tasks.state[members] == int(State.PENDING)) & ~tasks.refused[members]
    return members[able & (tasks.not_before[members] <= now)].tolist()


def count_members(cluster: Cluster, job_id: str) -> tuple[int, int, int]:
    """Members of a job that are bound to stay, assumed, and told to go."""
    tasks = cluster.tasks
    members = np.array(cluster.jobs.members(job_id), dtype=np.int64)
    leaving = tasks.leaving[members]
    bound = (tasks.state[members] == State.BOUND) & ~leaving
    assumed = (tasks.state[members] == State.ASSUMED) & ~leaving
    return int(bound.sum()), int(assumed.sum()), int(leaving.sum())
