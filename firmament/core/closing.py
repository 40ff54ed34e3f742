"""Puts a round's decisions into the cluster's state, checked against what has happened meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
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
    rows = np.concatenate(
        [picture.members[index][: len(run)] for index, run in _runs(cls, position)] or [np.empty(0, np.int64)]
    )
    uids = [uid for index, run in _runs(cls, position) for uid in picture.uids[index][: len(run)]]
    names = [picture.machine_names[row] for row in machine.tolist()]
    if cluster.version == picture.version:
        cluster.assume_all(rows, machine)
        kept = np.ones(len(rows), dtype=np.bool_)
    else:
        decided = _Decided(picture.cls[cls], rows, uids, names)
        kept = _assume_possible(cluster, static_rows, decided)
        for index in np.flatnonzero(~kept).tolist():
            cluster.mark(names[index])  # what was kept free for the task may suit another
    return [
        Delta(DeltaKind.PLACE, uid, name)
        for uid, name, keep in zip(uids, names, kept.tolist(), strict=True)
        if keep
    ]


def _runs(cls: Int64, position: Int64) -> list[tuple[int, Int64]]:
    """Classes in order, each with the positions of its members that are placed."""
    if len(cls) == 0:
        return []
    starts = np.flatnonzero(position == 0)
    return list(zip(cls[starts].tolist(), np.split(position, starts[1:]), strict=True))


@dataclass(frozen=True, slots=True)
class _Decided:
    """Placements of a picture, one task each: row of its class, its task row and uid then, and the machine's name."""

    cls: Int64
    task: Int64
    uid: list[str]
    machine: list[str]


def _assume_possible(cluster: Cluster, static_rows: StaticRows, decided: _Decided) -> Bool:
    """Assume the placements that are still possible; returns which those are, bool[N].

    Machines on which all of them still have room are dealt with at once; where they do not, the first in order stay.
    """
    machine = np.array([cluster.machines.row_of.get(name, -1) for name in decided.machine], dtype=np.int64)
    possible = _allowed(cluster, static_rows, decided, machine)
    rows = np.flatnonzero(possible)
    classes, of_class = np.unique(decided.cls[rows], return_inverse=True)
    requests = cluster.request_rows([cluster.classes.rows[cls].shape for cls in classes.tolist()])[of_class]
    wanted = np.zeros_like(cluster.machines.capacity)
    np.add.at(wanted, machine[rows], requests)
    free = cluster.machines.capacity - cluster.machines.used
    overfull = np.zeros(len(cluster.machines), dtype=np.bool_)
    overfull[np.nonzero((wanted > 0) & (wanted > free))[0]] = True
    contended = overfull[machine[rows]]
    cluster.assume_all(decided.task[rows[~contended]], machine[rows[~contended]])
    for row, request in zip(rows[contended].tolist(), requests[contended], strict=True):
        at = int(machine[row])
        left = cluster.machines.capacity[at] - cluster.machines.used[at]
        possible[row] = bool((request <= left)[request > 0].all())
        if possible[row]:
            cluster.assume_all(decided.task[row : row + 1], machine[row : row + 1])
    return possible


def _allowed(cluster: Cluster, static_rows: StaticRows, decided: _Decided, machine: Int64) -> Bool:
    """bool[N]: the task still waits and is what it was, its machine (row, -1: gone) is there and open to it."""
    tasks = cluster.tasks
    same = [tasks.uid[task] == uid for task, uid in zip(decided.task.tolist(), decided.uid, strict=True)]
    waits = (tasks.state[decided.task] == State.PENDING) & (tasks.cls[decided.task] == decided.cls)
    allowed: Bool = np.array(same, dtype=np.bool_) & waits & (machine >= 0)
    for cls in np.unique(decided.cls).tolist():
        members = np.flatnonzero(allowed & (decided.cls == cls))
        open_to = static_rows.of(cluster.classes.rows[cls].shape).feasible
        allowed[members] = open_to[machine[members]]
    return allowed
