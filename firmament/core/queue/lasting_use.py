"""Computes what tasks that do not end by themselves use of each machine."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.state.cluster import Cluster


def lasting_use(cluster: Cluster, machines: Int64 | None = None) -> Int64:
    """Return what tasks that are not expected to end use: int64[M, K], or only of ``machines`` (rows)."""
    tasks = cluster.tasks
    looked_at = np.full(len(cluster.machines) + 1, machines is None)
    looked_at[slice(0) if machines is None else machines] = True
    looked_at[-1] = False  # Tasks without a machine have the machine row -1.
    size = len(tasks.uid)
    rows = np.flatnonzero(looked_at[tasks.machine[:size]] & ~tasks.leaving[:size])
    ends = np.array([row.content.runs_to_completion for row in cluster.classes.rows], dtype=np.bool_)
    rows = rows[~ends[tasks.cls[rows]]]
    used = np.zeros_like(cluster.machines.capacity)
    np.add.at(used, tasks.machine[rows], cluster.demand_of(tasks.cls[rows])[0])
    return used


def longest_run(cluster: Cluster, now: float) -> Float64:
    """Return the seconds that the oldest task expected to end has run on each machine, at least 1: float64[M]."""
    tasks = cluster.tasks
    rows = np.flatnonzero(tasks.machine[: len(tasks.uid)] >= 0)
    ends = np.array([row.content.runs_to_completion for row in cluster.classes.rows], dtype=np.bool_)
    rows = rows[ends[tasks.cls[rows]] & (tasks.assigned[rows] > 0)]
    run = np.ones(len(cluster.machines))
    np.maximum.at(run, tasks.machine[rows], now - tasks.assigned[rows])
    return run
