"""Closes a round: checks its decisions against what has happened meanwhile and puts them into the cluster's state."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core import reasons
from firmament.core.cluster import Cluster
from firmament.core.feasibility import StaticRows, lacking, refusal_counts
from firmament.core.opening import Picture
from firmament.core.reservations import Reservations
from firmament.core.results import Delta, DeltaKind, Unscheduled
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


def pending_reasons(
    cluster: Cluster, static_rows: StaticRows, reservations: Reservations, picture: Picture
) -> tuple[Int64, list[Unscheduled]]:
    """Rows of the round's tasks that stay pending, and the messages that changed.

    Reasons describe the machines as they are after the round's placements.
    """
    tasks = cluster.tasks
    free = cluster.machines.capacity - cluster.machines.used
    everyone: list[Int64] = []
    changed: list[Unscheduled] = []
    for index, cls in enumerate(picture.cls.tolist()):
        rows = _still_pending(cluster, picture, index)
        if len(rows) == 0:
            continue
        everyone.append(rows)
        counts = _reason_counts(cluster, static_rows, reservations, cls, int(tasks.priority[rows[0]]), free)
        content = cluster.classes.rows[cls].content
        message = content.invalid or reasons.summarise(len(cluster.machines), counts)
        told = [row for row in rows.tolist() if tasks.message[row] != message]
        for row in told:
            tasks.message[row] = message
        if told:
            changed.append(Unscheduled(tuple(tasks.uid[row] for row in told), message, tuple(counts)))
    return (np.concatenate(everyone) if everyone else np.empty(0, dtype=np.int64)), changed


def _still_pending(cluster: Cluster, picture: Picture, index: int) -> Int64:
    """Members of a class of the picture that are the same tasks as then, unchanged, and pending."""
    tasks = cluster.tasks
    rows = picture.members[index]
    return rows[(tasks.state[rows] == State.PENDING) & ~tasks.revised[rows]]


def _reason_counts(
    cluster: Cluster,
    static_rows: StaticRows,
    reservations: Reservations,
    cls: int,
    priority: int,
    free: Int64,
) -> list[tuple[str, int]]:
    """Machines per root cause for one class."""
    machines = cluster.machines
    row = cluster.classes.rows[cls]
    request = cluster.request_of(cls)
    static = static_rows.of(row.shape)
    closed = reservations.closed_rows(cluster, cls, priority)
    if closed:
        refused = np.zeros(len(machines), dtype=np.bool_)
        refused[sorted(closed)] = True
        static = static.with_refusals(refused, reasons.RESERVED)
    allowed = None
    if row.pins is not None:
        allowed = np.zeros(len(machines), dtype=np.bool_)
        allowed[[machines.row_of[name] for name in row.pins if name in machines.row_of]] = True
    lack = lacking(free[:, : len(request)], request)
    return refusal_counts(static, allowed, lack, cluster.resources.names)
