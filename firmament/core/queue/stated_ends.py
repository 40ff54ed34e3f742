"""Computes when machines will have enough free, at the latest, from run times that tasks state (for EASY backfill).

If a task's class states its run time, the task ends at the latest that long after it got its machine; a leaving task
counts as gone. The end of all other tasks is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from cost_models.interface import Int64
from firmament.core.state.cluster import Cluster


def find_start(cluster: Cluster, needed: Mapping[int, Int64], now: float) -> float:
    """Return by when each machine in ``needed`` will have the stated amounts free, if no further task comes.

    ``needed``: amounts (int64[K]) by row of a machine, -1 for a machine that no longer exists. The result is minus
    infinity if the time is unknown, as no task ends before it.
    """
    if min(needed) < 0:
        return -math.inf
    machine = cluster.tasks.machine[: len(cluster.tasks.uid)]
    there = np.flatnonzero(np.isin(machine, list(needed)))
    starts = [
        _find_start_of(cluster, row, amounts, there[machine[there] == row], now)
        for row, amounts in needed.items()
    ]
    return max(starts) if min(starts) > -math.inf else -math.inf


def _find_start_of(cluster: Cluster, machine: int, amounts: Int64, rows: Int64, now: float) -> float:
    """Return by when one machine (row), on which the tasks ``rows`` run, will have ``amounts`` free."""
    tasks, machines = cluster.tasks, cluster.machines
    width = len(amounts)
    free = machines.capacity[machine, :width] - machines.used[machine, :width]
    missing: Int64 = np.where(amounts > 0, amounts - free, 0)
    if not (missing > 0).any():
        return now
    runs = np.array([cluster.classes.rows[cls].content.run_seconds for cls in tasks.cls[rows].tolist()])
    known = (runs > 0) & (tasks.assigned[rows] > 0)
    ends = np.where(known, np.maximum(tasks.assigned[rows] + runs, now), math.inf)
    ends[tasks.leaving[rows]] = now
    given = cluster.demand_of(tasks.cls[rows])[0][:, :width]
    for place in np.argsort(ends, kind="stable").tolist():
        missing = missing - given[place]
        if not (missing > 0).any():
            return float(ends[place]) if ends[place] < math.inf else -math.inf
    return -math.inf
