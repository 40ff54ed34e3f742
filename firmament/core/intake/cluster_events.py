"""Describes a cluster by events, for trial rounds that begin with what a scheduler knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from firmament.core.events import (
    ClassDefined,
    JobDefined,
    MachineUpserted,
    RecordUpserted,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.record_kinds import DEVICE_SLICE_RECORD
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import UNGROUPED, TaskPhase

_FIRST_SPARE = 2**61
"""The first number for classes that have tasks but no number any more; drivers' numbers begin at 0."""


class ClusterEvents(NamedTuple):
    """Events that describe a cluster; reports of use, and all records except slices of devices, are left out."""

    machines: list[MachineUpserted]
    """Events for all machines."""
    classes: list[ClassDefined]
    """Events for all classes that tasks or numbers refer to."""
    jobs: list[JobDefined]
    """Events for gangs."""
    slices: list[RecordUpserted]
    """Events for slices of devices."""
    placed: list[TasksBound]
    """Events for tasks on machines, one task in each event; tasks with a binding in progress count as bound."""
    waiting: list[TasksSubmitted]
    """Events for tasks that wait, in order of arrival; equal tasks share an event."""


def list_events(cluster: Cluster) -> ClusterEvents:
    """Return the events by which a driver would describe machines, classes, gangs, slices of devices and tasks."""
    numbers = {cluster.classes.row(number): number for number in cluster.classes.numbers}
    tasks = cluster.tasks
    present = tasks.state[: len(tasks.uid)] != TaskPhase.UNUSED
    for row in np.unique(tasks.cls[: len(present)][present]).tolist():
        numbers.setdefault(row, _FIRST_SPARE + row)
    payloads = cluster.records.payloads.get(DEVICE_SLICE_RECORD, {})
    gangs = (cluster.jobs.gang(name) for name in cluster.jobs.gangs)
    return ClusterEvents(
        [MachineUpserted(each) for each in cluster.machines.specs],
        [ClassDefined(number, cluster.classes.rows[row].content) for row, number in numbers.items()],
        [JobDefined(job) for job in gangs if job is not None],
        [RecordUpserted(DEVICE_SLICE_RECORD, name, payload) for name, payload in payloads.items()],
        list(_iter_placed(cluster, numbers)),
        list(_iter_waiting(cluster, numbers)),
    )


def _iter_placed(cluster: Cluster, numbers: dict[int, int]) -> Iterator[TasksBound]:
    """Yield events for the tasks that are on known machines, in order of arrival."""
    tasks, groups = cluster.tasks, cluster.spread_groups.by_code
    names = cluster.machines.names
    rows = np.flatnonzero(tasks.find_placed() & (tasks.machine[: len(tasks.uid)] >= 0))
    rows = rows[np.argsort(tasks.arrival_number[rows], kind="stable")]
    columns = (tasks.machine, tasks.cls, tasks.priority, tasks.group_priority, tasks.spread)
    times = (tasks.assigned, tasks.initialized, tasks.created)
    for row, machine, cls, priority, group, spread, *dates in zip(
        rows.tolist(), *(each[rows].tolist() for each in (*columns, *times)), strict=True
    ):
        assigned, initialized, created = dates
        yield TasksBound(
            names[machine],
            numbers[cls],
            (tasks.uid[row],),
            (tasks.name[row],),
            priority,
            tasks.job[row],
            (assigned,),
            (initialized,),
            (created,),
            None if group == UNGROUPED else group,
            groups[spread],
        )


def _iter_waiting(cluster: Cluster, numbers: dict[int, int]) -> Iterator[TasksSubmitted]:
    """Yield events for the tasks that wait, one for the tasks of each class, job, rank and group."""
    tasks, groups = cluster.tasks, cluster.spread_groups.by_code
    rows = tasks.in_state(TaskPhase.PENDING)
    rows = rows[np.argsort(tasks.sequence[rows], kind="stable")]
    alike: dict[tuple[int, str, int, int, int], list[int]] = {}
    columns = (tasks.cls, tasks.priority, tasks.group_priority, tasks.spread)
    for row, cls, priority, group, spread in zip(
        rows.tolist(), *(each[rows].tolist() for each in columns), strict=True
    ):
        alike.setdefault((cls, tasks.job[row], priority, group, spread), []).append(row)
    for (cls, job, priority, group, spread), members in alike.items():
        yield TasksSubmitted(
            numbers[cls],
            tuple(tasks.uid[row] for row in members),
            job=job,
            priority=priority,
            names=tuple(tasks.name[row] for row in members),
            created=tuple(tasks.created[members].tolist()),
            group_priority=None if group == UNGROUPED else group,
            spread_group=groups[spread],
        )
