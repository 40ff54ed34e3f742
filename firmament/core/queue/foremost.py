"""Who goes first where other schedulers keep room that counts for some of those who wait, and not for others."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.state.cluster import Cluster


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
