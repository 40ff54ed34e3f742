"""Collects facts about tasks on machines that models may ask for.

The facts are counts by shape, arrivals after records, and detailed use.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Arrivals, Assigned, Bool, Float64, Int64, Load, Residents, ShapeRow
from firmament.core.resources import CEILING
from firmament.core.scoring.round_assessment import shape_rows
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase
from firmament.core.usage.samples import MachineSamples


@dataclass(frozen=True, slots=True)
class ShapeKinds:
    """Kinds of tasks, where a kind is a shape of the cluster."""

    cluster: Cluster

    def rows(self, kinds: Int64) -> Sequence[ShapeRow]:
        """Return the columns that models may see of each shape."""
        return shape_rows(self.cluster, kinds.tolist())

    def requests(self, kinds: Int64) -> Int64:
        """Return the requests of each kind: int64[len(kinds), K]."""
        return self.cluster.requests.rows(kinds.tolist())[0]


def list_arrivals(cluster: Cluster, kinds: Collection[str], *, without: int = -1) -> Arrivals | None:
    """Return bound and assumed tasks on machines with records of ``kinds``, except the task in row ``without``.

    Return None if there are no records of ``kinds``.
    """
    record_came = _record_came(cluster, kinds)
    if record_came is None:
        return None
    tasks = cluster.tasks
    machine = tasks.machine[: len(tasks.uid)]
    on = on_machines(cluster, without)
    on = on[record_came[machine[on]] > 0]
    on = on[np.argsort(tasks.arrival_number[on], kind="stable")]
    displacing = tasks.displacing[on]
    shape_of_class = np.array([row.shape for row in cluster.classes.rows], dtype=np.int64)
    return Arrivals(
        machine=machine[on],
        kind=shape_of_class[tasks.cls[on]],
        task=on,
        after=(tasks.arrival_number[on] > record_came[machine[on]])
        | (displacing & (tasks.state[on] == TaskPhase.ASSUMED)),
        displacing=displacing,
        time=np.where(tasks.dated[on], tasks.assigned[on], np.nan),
        uids=tasks.uid,
        kinds=ShapeKinds(cluster),
    )


def _record_came(cluster: Cluster, kinds: Collection[str]) -> Int64 | None:
    """Return when the last record about each machine came: int64[M], 0 for never; None if there are no such records."""
    by_kind = [numbers for kind in kinds if (numbers := cluster.records.arrival_numbers.get(kind))]
    if not by_kind:
        return None
    names = cluster.machines.names
    return np.array([[numbers.get(name, 0) for name in names] for numbers in by_kind], dtype=np.int64).max(
        axis=0
    )


DEFAULT_INTERVAL = 60.0
"""Seconds between reports of a source that does not state its interval."""


@dataclass(frozen=True, slots=True)
class SampledWindows:
    """The use of machines over periods, computed from ``MachineSamples`` on request."""

    samples: MachineSamples
    machines: int

    def usage(self, kind: str, seconds: float) -> Float64:
        """Return the use of machines: float64[M, K]; NaN rows for machines without reports."""
        return self.samples.window(kind, seconds, self.machines)


def collect_load(cluster: Cluster, *, without: int = -1) -> Load:
    """Return the reported use of machines and of the tasks on them, except the task in row ``without``."""
    machines = cluster.machines
    samples, rows = machines.samples, len(machines)
    return Load(
        reported=samples.stamp(rows) > 0,
        interval=samples.interval(rows).copy(),
        system=samples.system(rows),
        total=machines.total.copy(),
        windows=SampledWindows(samples, rows),
        assigned=_list_assigned(cluster, without),
    )


def compute_unseen_use(cluster: Cluster, *, without: int = -1) -> Int64:
    """Return the use that the newest reports may not show yet: int64[M, K].

    The unseen use is that of tasks that were placed after the report before the last. A report covers the time since
    the report before it, so it cannot show all that newly placed tasks use. The function estimates the part that
    reports do not show yet. The estimated part is the tasks' requests, or the assumed need if they state none, minus
    what the report says about each single task. Nothing is added for tasks without a known time of arrival, as they
    may have been there for long. The task in row ``without`` is left out; machines without a report have 0.
    """
    machines, tasks = cluster.machines, cluster.tasks
    samples, rows = machines.samples, len(machines)
    found = np.zeros(machines.capacity.shape, dtype=np.int64)
    if not (samples.stamp(rows) > 0).any():
        return found
    interval = samples.interval(rows)
    seen_until = samples.time(rows) - np.where(interval > 0, interval, DEFAULT_INTERVAL)
    on = np.flatnonzero((tasks.machine[: len(tasks.uid)] >= 0) & tasks.dated[: len(tasks.uid)])
    late = on[(tasks.assigned[on] > seen_until[tasks.machine[on]]) & (on != without)]
    if not len(late):
        return found
    requested, assumed = cluster.demand_of(tasks.cls[late])
    shown = np.ceil(
        _compute_reported(cluster, late, _find_reported(cluster, late, tasks.machine[late]))
    ).astype(np.int64)
    np.add.at(found, tasks.machine[late], np.maximum(requested + assumed - shown, 0))
    return np.where(machines.used < CEILING, found, CEILING)  # Amounts at the ceiling may be incomplete sums.


def compute_measured_use(cluster: Cluster, tasks: Int64) -> Float64:
    """Return the reported use by tasks (int64[N] rows, on machines), summed by machine: float64[M, K]."""
    found = np.zeros(cluster.machines.capacity.shape)
    np.add.at(found, cluster.tasks.machine[tasks], compute_reported_use(cluster, tasks)[0])
    return found


def compute_reported_use(cluster: Cluster, tasks: Int64) -> tuple[Float64, Bool]:
    """Return what tasks (int64[N] rows, on machines) use by the last reports: float64[N, K]; bool[N]: reported."""
    reported = _find_reported(cluster, tasks, cluster.tasks.machine[tasks])
    return _compute_reported(cluster, tasks, reported), reported


def _compute_reported(cluster: Cluster, rows: Int64, reported: Bool) -> Float64:
    """Return what tasks use by their machines' last reports, 0 where not ``reported``: float64[len(rows), K]."""
    shown = cluster.task_samples.usage(rows)
    if not reported.all():
        shown[np.flatnonzero(~reported)] = 0.0
    return shown


def _find_reported(cluster: Cluster, rows: Int64, machines: Int64) -> Bool:
    """Return which tasks have figures in the last report of their ``machines`` (int64[len(rows)]): bool[len(rows)]."""
    stamp = cluster.task_samples.stamp(rows)
    of_machine = cluster.machines.samples.stamp(len(cluster.machines)).take(machines)
    return (stamp > 0) & (stamp == of_machine)


def _list_assigned(cluster: Cluster, without: int) -> Assigned:
    """Return the bound and assumed tasks whose machine is known."""
    tasks = cluster.tasks
    on = on_machines(cluster, without)
    machine = tasks.machine.take(on)
    numbers, kind = _kinds(cluster, on)
    reported = _find_reported(cluster, on, machine)
    return Assigned(
        machine=machine,
        kind=kind,
        time=_mask_unknown(tasks.assigned.take(on)),
        initialized=_mask_unknown(tasks.initialized.take(on)),
        reported=reported,
        usage=_compute_reported(cluster, on, reported),
        prod=cluster.task_samples.prod(on),
        kinds=shape_rows(cluster, numbers),
        requests=cluster.requests.rows(numbers)[0],
    )


def _mask_unknown(times: Float64) -> Float64:
    """Return ``times`` with NaN in place of unknown times."""
    known = times > 0
    return times if known.all() else np.where(known, times, np.nan)


def count_residents(cluster: Cluster, *, without: int = -1) -> Residents:
    """Return the number of bound and assumed tasks per machine and shape, except the task in row ``without``.

    Tasks on unknown machines are left out.
    """
    tasks = cluster.tasks
    on = on_machines(cluster, without)
    numbers, kind = _kinds(cluster, on)
    width = max(1, len(numbers))
    pairs, count = np.unique(tasks.machine[on] * width + kind, return_counts=True)
    return Residents(
        machine=pairs // width,
        kind=pairs % width,
        count=count.astype(np.int64),
        kinds=shape_rows(cluster, numbers),
        requests=cluster.requests.rows(numbers)[0],
    )


def on_machines(cluster: Cluster, without: int = -1) -> Int64:
    """Return the rows of the tasks on machines as models see them: ascending, without row ``without``."""
    tasks = cluster.tasks
    on = np.flatnonzero(tasks.machine[: len(tasks.uid)] >= 0)
    return on[on != without] if without >= 0 else on


def resident_shapes(cluster: Cluster) -> Int64:
    """Return the shapes of the tasks on machines, ascending: the kinds of `residents`, in that order."""
    return np.array(_kinds(cluster, on_machines(cluster))[0], dtype=np.int64)


def _kinds(cluster: Cluster, tasks: Int64) -> tuple[list[int], Int64]:
    """Return the shapes of tasks (int64[N] rows), ascending, and int64[N]: index of each task's shape among them."""
    classes = cluster.tasks.cls.take(tasks)
    shape_of_class = np.array([row.shape for row in cluster.classes.rows], dtype=np.int64)
    present = np.bincount(classes, minlength=len(shape_of_class)) > 0
    shapes, kind_of_present = np.unique(shape_of_class[present], return_inverse=True)
    kind_of_class = np.zeros(len(shape_of_class), dtype=np.int64)
    kind_of_class[present] = kind_of_present
    return shapes.tolist(), kind_of_class.take(classes)
