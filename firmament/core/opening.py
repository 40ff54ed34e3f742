"""Opens a round: takes the picture of the cluster that the round is solved on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.core.cluster import Cluster
from firmament.core.composition import Judgement, cost_rows, crowding_units, judge, machine_columns
from firmament.core.configuration import CoreConfiguration
from firmament.core.feasibility import StaticRows
from firmament.core.reservations import Reservations
from firmament.core.residents import residents
from firmament.flow.problem import WAIT_BUCKETS, PlacementProblem

WAIT_LIMITS = (1.0, 10.0, 60.0)
"""Seconds of waiting at which a task moves on to the next wait bucket."""


@dataclass(frozen=True, slots=True)
class Picture:
    """The problem of a round and what its indices mean.

    ``members[c]`` are the task rows of class c of the problem, longest waiting first; ``cls[c]`` is its row in the
    class table; ``uids`` are those of the members, to recognise rows that were used anew meanwhile.
    """

    problem: PlacementProblem
    judgement: Judgement
    members: tuple[Int64, ...]
    uids: tuple[tuple[str, ...], ...]
    cls: Int64
    machine_names: tuple[str, ...]
    version: int


def take_picture(
    cluster: Cluster,
    static_rows: StaticRows,
    reservations: Reservations,
    configuration: CoreConfiguration,
    waiting: Int64,
    now: float,
) -> Picture:
    """Build the placement problem of the tasks in ``waiting`` (rows)."""
    tasks = cluster.tasks
    groups, members = _grouped(cluster, waiting)
    cls = np.array([group[0] for group in groups], dtype=np.int64)
    priorities = np.array([group[1] for group in groups], dtype=np.int64)
    shape_rows = np.array([cluster.classes.rows[row].shape for row in cls.tolist()], dtype=np.int64)
    shapes, shape_of = np.unique(shape_rows, return_inverse=True)
    counts = np.zeros((len(groups), WAIT_BUCKETS), dtype=np.int64)
    for index, rows in enumerate(members):
        bucket = WAIT_BUCKETS - 1 - np.searchsorted(WAIT_LIMITS, now - tasks.arrived[rows], side="right")
        counts[index] = np.bincount(bucket, minlength=WAIT_BUCKETS)
    per_shape = np.bincount(shape_of, weights=counts.sum(axis=1), minlength=len(shapes)).astype(np.int64)

    columns = machine_columns(cluster, now, residents(cluster) if configuration.uses_residents else None)
    judgement = judge(
        cluster, static_rows, columns, shapes.tolist(), per_shape.tolist(), configuration.models
    )
    problem = PlacementProblem(
        counts=counts,
        priority=np.unique(priorities, return_inverse=True)[1].astype(np.int64),
        shape=shape_of.astype(np.int64),
        requests=judgement.batch.requests,
        feasible=judgement.feasible(),
        cost=cost_rows(judgement, configuration.models),
        crowd=crowding_units(columns, judgement.batch, configuration.models, judgement.assessments),
        free=columns.capacity - cluster.machines.used,
        rotation=configuration.options.seed % max(1, columns.count),
        pins=_pins(cluster, reservations, groups),
        joint=judgement.joint(),
    )
    return Picture(
        problem=problem,
        judgement=judgement,
        members=tuple(members),
        uids=tuple(tuple(tasks.uid[row] for row in rows.tolist()) for rows in members),
        cls=cls,
        machine_names=tuple(columns.names),
        version=cluster.version,
    )


def _grouped(cluster: Cluster, waiting: Int64) -> tuple[list[tuple[int, int]], list[Int64]]:
    """Tasks by (class, priority), ascending, and in each group by age."""
    tasks = cluster.tasks
    order = np.lexsort(
        (tasks.sequence[waiting], tasks.created[waiting], tasks.priority[waiting], tasks.cls[waiting])
    )
    rows = waiting[order]
    cls, priority = tasks.cls[rows], tasks.priority[rows]
    starts = np.flatnonzero(np.r_[True, (cls[1:] != cls[:-1]) | (priority[1:] != priority[:-1])])
    members = np.split(rows, starts[1:])
    return [(int(cls[start]), int(priority[start])) for start in starts.tolist()], members


def _pins(cluster: Cluster, reservations: Reservations, groups: list[tuple[int, int]]) -> dict[int, Int64]:
    """Allowed machine rows of the groups that may not use all: pinned classes, and those kept off reserved machines."""
    machines = cluster.machines
    pins: dict[int, Int64] = {}
    for index, (cls, priority) in enumerate(groups):
        named = cluster.classes.rows[cls].pins
        closed = reservations.closed_rows(cluster, cls, priority) if len(reservations) else set()
        if named is None and not closed:
            continue
        rows = range(len(machines)) if named is None else [machines.row_of.get(name, -1) for name in named]
        pins[index] = np.array(sorted(row for row in set(rows) - closed if row >= 0), dtype=np.int64)
    return pins
