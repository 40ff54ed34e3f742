"""Puts a round's decisions into the cluster's state, checked against what has happened meanwhile."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.cluster import Cluster
from firmament.core.feasibility import StaticRows
from firmament.core.opening import Picture
from firmament.core.results import Delta, DeltaKind
from firmament.core.tasks import State
from firmament.flow.problem import Assignments


def assume_placements(
    cluster: Cluster, static_rows: StaticRows, picture: Picture, placed: Assignments
) -> list[Delta]:
    """Turn assignments into deltas, longest waiting tasks first, and assume the tasks on their machines.

    If events arrived since the picture was taken, every single placement is checked again: the task must still wait
    and be of the same class, the machine still be there, allowed, and have room. What fails stays pending, and the
    machine is marked as worth another look.
    """
    order = np.lexsort((placed.machine, placed.cls))
    cls = np.repeat(placed.cls[order], placed.count[order])
    machine = np.repeat(placed.machine[order], placed.count[order])
    first = np.flatnonzero(np.r_[True, cls[1:] != cls[:-1]]) if len(cls) else cls
    position = np.arange(len(cls)) - np.repeat(first, np.diff(np.r_[first, len(cls)]))
    if cluster.version == picture.version:
        rows = np.concatenate(
            [picture.members[index][: len(run)] for index, run in _runs(cls, position)]
            or [np.empty(0, np.int64)]
        )
        cluster.assume_all(rows, machine)
        uids = [uid for index, run in _runs(cls, position) for uid in picture.uids[index][: len(run)]]
        names = [picture.machine_names[row] for row in machine.tolist()]
        return [Delta(DeltaKind.PLACE, uid, name) for uid, name in zip(uids, names, strict=True)]
    return _assume_checked(cluster, static_rows, picture, cls, machine, position)


def _runs(cls: Int64, position: Int64) -> list[tuple[int, Int64]]:
    """Classes in order, each with the positions of its members that are placed."""
    if len(cls) == 0:
        return []
    starts = np.flatnonzero(position == 0)
    return list(zip(cls[starts].tolist(), np.split(position, starts[1:]), strict=True))


def _assume_checked(
    cluster: Cluster, static_rows: StaticRows, picture: Picture, cls: Int64, machine: Int64, position: Int64
) -> list[Delta]:
    """Assume placements one by one, each only if it is still possible."""
    deltas: list[Delta] = []
    for index, target, nth in zip(cls.tolist(), machine.tolist(), position.tolist(), strict=True):
        name = picture.machine_names[target]
        task = int(picture.members[index][nth])
        uid = picture.uids[index][nth]
        row = _still_possible(cluster, static_rows, task, uid, int(picture.cls[index]), name)
        if row < 0:
            cluster.mark(name)  # what was kept free for the task may suit another
            continue
        cluster.assume_all(np.array([task]), np.array([row]))
        deltas.append(Delta(DeltaKind.PLACE, uid, name))
    return deltas


def _still_possible(
    cluster: Cluster, static_rows: StaticRows, task: int, uid: str, cls: int, machine: str
) -> int:
    """Row of the machine if the task may still go there, else -1."""
    tasks = cluster.tasks
    row = cluster.machines.row_of.get(machine, -1)
    if row < 0 or tasks.uid[task] != uid or tasks.state[task] != State.PENDING or tasks.cls[task] != cls:
        return -1
    if not static_rows.of(cluster.classes.rows[cls].shape).feasible[row]:
        return -1
    request = cluster.request_of(cls)
    free = cluster.machines.capacity[row, : len(request)] - cluster.machines.used[row, : len(request)]
    return row if bool((request <= free)[request > 0].all()) else -1
