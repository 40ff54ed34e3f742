"""Volumes that several tasks share, and that are attached to machines already: those need no attachment more there.

A task asks for one attachment of each of its volumes, as a resource; which of them are of shared volumes its class
says, and machines say which of those are attached to them. What that saves differs from machine to machine, which
requests cannot say. So in a round the machines concerned offer what could be saved in addition, and joint rows hold all
tasks there to what is truly left. Whoever shares a volume that no machine has yet is asked for it once each: the next
round knows better.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Int64, JointRows
from firmament.core.reasons import lack_of
from firmament.core.resources import NO_COLUMN
from firmament.core.state.cluster import Cluster

MOST_KINDS = 64
"""Kinds of machines that a round tells apart by what is attached to them; on others all is asked for once more."""


def compute_saved(cluster: Cluster, shape: int, rows: Int64) -> Int64 | None:
    """int64[len(rows), K]: what a task of a shape need not ask of machines (rows) after all, None for nothing."""
    attachments = cluster.classes.shapes[shape].attachments
    if not attachments:
        return None
    machines = cluster.machines
    columns = cluster.resources.columns([resource for resource, _ in attachments])
    less = np.zeros((len(machines), machines.capacity.shape[1]), dtype=np.int64)
    for column, (_, volume) in zip(columns, attachments, strict=True):
        if column == NO_COLUMN:
            continue  # no machine offers it
        less[[machines.row_of[name] for name in machines.attached.get(volume, ())], column] += 1
    request = cluster.requests.get(shape)[0]
    less[:, : len(request)] = np.minimum(less[:, : len(request)], request)
    return less[rows] if less.any() else None


def net_requests(cluster: Cluster, classes: Int64, machines: Int64) -> Int64:
    """int64[N, K]: what tasks of ``classes[i]`` ask of ``machines[i]`` (rows, -1 for none), less what they need not."""
    wanted, _ = cluster.demand_of(classes)
    for cls in np.unique(classes).tolist():
        shape = cluster.classes.rows[cls].shape
        if cluster.classes.shapes[shape].attachments:
            where = np.flatnonzero((classes == cls) & (machines >= 0))
            less = compute_saved(cluster, shape, machines[where])
            if less is not None:
                wanted[where] -= less
    return wanted


def add_saved(cluster: Cluster, shape: int, free: Int64) -> Int64:
    """What all machines have left (``free``, int64[M, K]) as a task of a shape sees it: with what it need not take."""
    less = compute_saved(cluster, shape, np.arange(len(free)))
    return free if less is None else free + less


def add_attached(
    cluster: Cluster, shapes: Sequence[int], counts: Int64, requests: Int64, free: Int64
) -> tuple[Int64, list[JointRows]]:
    """What machines offer in a round, and the rows that hold tasks there to ``free`` (int64[M, K]).

    ``shapes``: rows of the shape table; ``counts``: int64[S], how many of each wait; ``requests``: int64[S, K].
    """
    every = np.arange(len(free))
    less = {
        index: found
        for index, shape in enumerate(shapes)
        if (found := compute_saved(cluster, shape, every)) is not None
    }
    if not less:
        return free, []
    offered = free.copy()
    rows = []
    for column in sorted(
        {each for found in less.values() for each in np.flatnonzero(found.any(axis=0)).tolist()}
    ):
        kinds: dict[tuple[tuple[int, int], ...], list[int]] = {}
        concerned = np.flatnonzero(np.any([found[:, column] > 0 for found in less.values()], axis=0))
        for machine in concerned.tolist():
            kind = tuple((index, int(found[machine, column])) for index, found in less.items())
            kinds.setdefault(kind, []).append(machine)
        for kind in sorted(kinds, key=lambda each: -len(kinds[each]))[:MOST_KINDS]:
            there = np.array(kinds[kind], dtype=np.int64)
            amount = requests[:, column].copy()
            for index, number in kind:
                amount[index] -= number
            limit = np.zeros(len(free), dtype=np.int64)
            limit[there] = np.maximum(free[there, column], 0)
            row_of = np.full(len(free), -1, dtype=np.int64)
            row_of[there] = there
            offered[there, column] = limit[there] + sum(number * int(counts[index]) for index, number in kind)
            reason = lack_of(cluster.resources.names[column]).words
            rows.append(JointRows(row_of, amount, limit, reason))
    return offered, rows
