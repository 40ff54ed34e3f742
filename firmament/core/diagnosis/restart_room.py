"""Says on which machines a task has no place only because capacity is kept there for a gang that restarts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.queue.restart_room import list_kept_rows
from firmament.core.reasons import BY_FURTHER_ROOM, AnyReason, Cause, by_kept_room
from firmament.core.rules.framework.node_rule import MachineRefusal
from firmament.core.state.cluster import Cluster


def add_kept(cluster: Cluster, beside: Int64, least: int | None, free: Int64) -> Int64:
    """Return ``free`` (int64[M, K]) as it would be if no capacity were kept for gangs that restart.

    ``beside``, ``least``: the tasks (rows) and the priority for which kept capacity counts as used in ``free``.
    """
    kept = cluster.restarts.sum_beside(cluster.tasks, cluster.machines, beside.tolist(), least)
    return free if kept is None else free + kept


def refuse_kept_room(cluster: Cluster, tasks: Sequence[int], job: str, free: Int64) -> list[MachineRefusal]:
    """Return the refusals of machines that equal ``tasks`` (rows) may not use because of capacity kept for other jobs.

    ``job``: the tasks' job, for which some machines are open or closed; ``free``: int64[M, K], what is free for the
    tasks if nothing is kept. Of several gangs on a machine the first is named, and a gang is named only if all tasks
    are in its namespace. If there are very many gangs, only those with the most machines are named.
    """
    cls, priority = int(cluster.tasks.cls[tasks[0]]), int(cluster.tasks.priority[tasks[0]])
    kept = cluster.restarts.sum_kept(cluster.tasks, cluster.machines, priority, {job})
    if kept is None:
        return []
    wanted = np.flatnonzero(cluster.request_of(cls))
    request = cluster.request_of(cls)[wanted]
    refused = _fits(free[:, wanted], request) & ~_fits((free[:, : kept.shape[1]] - kept)[:, wanted], request)
    refused[sorted(list_kept_rows(cluster, cls, priority, job))] = True
    namespaces = {cluster.tasks.name[row].partition("/")[0] for row in tasks}
    found: dict[AnyReason, Bool] = {}
    for room, until, rows in cluster.restarts.list_keepers(cluster.machines, priority, job, refused):
        reason = by_kept_room(room.name if namespaces == {room.namespace} else "", until)
        found.setdefault(reason, np.zeros(len(refused), dtype=np.bool_))[rows] = True
        refused[rows] = False
    if refused.any():
        found[BY_FURTHER_ROOM] = refused
    return [MachineRefusal(Cause(reason), rows) for reason, rows in found.items()]


def _fits(free: Int64, request: Int64) -> Bool:
    return np.asarray((free >= request).all(axis=1))
