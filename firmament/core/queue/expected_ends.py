"""When machines will have room at the latest, by how long tasks are known to run.

A task whose class says how long it runs ends at the latest so long after it got its machine; one that is leaving counts
as gone. Of all others nobody knows.
"""

from __future__ import annotations

import math

import numpy as np

from cost_models.interface import Int64
from firmament.core.state.cluster import Cluster


def find_start(cluster: Cluster, machine: int, amounts: Int64, now: float) -> float:
    """Return when a machine (row) will have ``amounts`` (int64[K]) free at the latest, if nobody else comes.

    Minus infinity if nobody knows: then nobody ends before it.
    """
    tasks, machines = cluster.tasks, cluster.machines
    rows = np.flatnonzero(tasks.machine[: len(tasks.uid)] == machine)
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
