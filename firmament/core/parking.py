"""Tasks found unschedulable wait here for an event that could help: no round is run for them in vain.

A class is woken when a machine that changed (or has more room) would now take one of its tasks; the check is exact for
everything but models' filters and joint rows. A class with rules about other tasks is also woken when one of those has
come to a machine or left one, wherever that is.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.cluster import Cluster
from firmament.core.feasibility import StaticRows
from firmament.core.pinning import pinned_rows
from firmament.core.reservations import Reservations
from firmament.core.rule_compiler import concerns
from firmament.core.tasks import State


def wake(
    cluster: Cluster,
    static_rows: StaticRows,
    reservations: Reservations,
    placed: frozenset[int] = frozenset(),
) -> bool:
    """Unpark every task that a marked machine could take; returns whether any was woken. The marks stay.

    ``placed``: rows of classes that a round has just placed tasks of. Tasks refused for good sleep on.
    """
    touched = cluster.touched | placed
    if not cluster.dirty and not cluster.everything_dirty and not touched:
        return False
    tasks = cluster.tasks
    size = len(tasks.uid)
    parked = np.flatnonzero(tasks.parked[:size] & ~tasks.refused[:size])
    woken = False
    if len(parked) and cluster.everything_dirty:
        tasks.parked[parked] = False
        woken = True
    elif len(parked):
        rows = np.array(sorted(cluster.machines.row_of[name] for name in cluster.dirty), dtype=np.int64)
        free = (cluster.machines.capacity - cluster.machines.used)[rows]
        for cls in np.unique(tasks.cls[parked]).tolist():
            members = parked[tasks.cls[parked] == cls]
            if concerns(cluster, cls, touched) or _could_take(
                cluster, static_rows, reservations, cls, members, rows, free
            ):
                tasks.parked[members] = False
                woken = True
    return woken


def _could_take(
    cluster: Cluster,
    static_rows: StaticRows,
    reservations: Reservations,
    cls: int,
    members: Int64,
    rows: Int64,
    free: Int64,
) -> bool:
    """Whether one of the machines in ``rows`` (with ``free`` room) would take a task of the class."""
    if len(rows) == 0:
        return False
    row = cluster.classes.rows[cls]
    request = cluster.request_of(cls)
    wanted = np.flatnonzero(request)  # a lack of what is not asked for does not matter
    fits = static_rows.of(row.shape).feasible[rows] & (free[:, wanted] >= request[wanted]).all(axis=1)
    if fits.any():
        pinned = pinned_rows(cluster, cls)
        if pinned is not None:
            fits &= np.isin(rows, pinned)
    if not fits.any():
        return False
    highest = int(cluster.tasks.priority[members].max())
    return not set(rows[fits].tolist()) <= reservations.closed_rows(cluster, cls, highest)


def park(cluster: Cluster, rows: Int64) -> None:
    """Put pending tasks (rows) aside until something changes that could help them."""
    pending = rows[cluster.tasks.state[rows] == State.PENDING]
    cluster.tasks.parked[pending] = True
