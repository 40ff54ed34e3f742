"""Estimates the use of single tasks on machines, and decides whether the estimate or the reported use counts.

Koordinator's rule: let U be the time of a machine's report, I the interval of reports, and u a task's reported use
(or none). If the task's estimate exceeds u, the estimate counts if

    u is missing,  or  U - I < the time when the task got the machine,  or  the estimate is to count until after U.

For the use of prod tasks, u is missing if the report does not list a koord-prod task as one. Pods that stand for a
reservation do not count.

Estimates are those of Koordinator's default estimator. Let F be the factor of a resource r, rr the name of r for pods
of the task's service class, and x the larger of limit and request of rr:

    estimate = round(x * F / 100), but at most the limit, if any        250 milli-cores or 200 MiB if x is 0

All numbers are whole: cpu in milli-cores, memory in bytes. Halves are rounded up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cost_models.interface import Assigned, Bool, Float64, Int64, Load, MachineColumns, ShapeRow
from cost_models.load_aware.annotations import RESERVE_POD, pod_annotations
from cost_models.load_aware.arguments import Settings
from cost_models.load_aware.defaults import Percentages

PROD = "koord-prod"

_EXTENDED: Mapping[str, Mapping[str, str]] = {
    "koord-batch": {"cpu": "kubernetes.io/batch-cpu", "memory": "kubernetes.io/batch-memory"},
    "koord-mid": {"cpu": "kubernetes.io/mid-cpu", "memory": "kubernetes.io/mid-memory"},
    "koord-free": {},
}
"""The names of resources in requests of a service class; other classes use the ordinary names."""

_LEAST: Mapping[str, int] = {
    "cpu": 250,
    "kubernetes.io/batch-cpu": 250,
    "memory": 200 * 2**20,
    "kubernetes.io/batch-memory": 200 * 2**20,
}
"""Estimates for pods without requests and limits, in milli-cores and bytes."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """The expected use of tasks by shape.

    ``amounts``: int64[S, R] in the order of ``Settings.known``; ``prod``: bool[S], whether of class koord-prod;
    ``after_scheduled``, ``after_initialized``: float64[S], for how many seconds the estimate counts although there are
    figures, 0 for not at all.
    """

    amounts: Int64
    prod: Bool
    after_scheduled: Float64
    after_initialized: Float64
    notes: tuple[str, ...]


def estimate_tasks(
    rows: Sequence[ShapeRow], requests: Int64, resources: Sequence[str], settings: Settings
) -> Estimates:
    """Estimate the tasks of every shape; ``requests``: int64[S, K] in the order of ``resources``."""
    column = {name: index for index, name in enumerate(resources)}
    amounts = np.zeros((len(rows), len(settings.known)), dtype=np.int64)
    windows = np.zeros((len(rows), 2))
    windows[:] = settings.after_scheduled, settings.after_initialized
    notes: dict[str, None] = {}
    for index, (row, request) in enumerate(zip(rows, requests.tolist(), strict=True)):
        factors = settings.factors
        if settings.customize and row.annotations:
            custom = pod_annotations(row)
            notes.update(dict.fromkeys(custom.notes))
            factors = {**factors, **custom.factors}
            for place, seconds in enumerate((custom.after_scheduled, custom.after_initialized)):
                if seconds is not None:
                    windows[index, place] = seconds
        limits = dict(row.limits)
        names = _EXTENDED.get(row.service_class)
        for position, resource in enumerate(settings.known):
            if resource in factors:
                name = resource if names is None else names.get(resource, "")
                asked = request[column[name]] if name in column else 0
                amounts[index, position] = estimate(name, asked, limits.get(name, 0), factors[resource])
    prod = np.array([row.service_class == PROD for row in rows], dtype=np.bool_)
    return Estimates(amounts, prod, windows[:, 0], windows[:, 1], tuple(notes))


def estimate(name: str, request: int, limit: int, factor: int) -> int:
    """Return the expected use of one resource.

    ``name``: the resource's name in the pod's service class, "" if the class has none.
    """
    amount = max(request, limit)
    if amount == 0:
        return _LEAST.get(name, 0)
    estimated = round_half_away(float(amount) * float(factor) / 100.0)
    return max(0, min(estimated, limit) if limit > 0 else estimated)


def round_half_away(value: float) -> int:
    """Round to the nearest whole number, halves away from zero, as Go's math.Round."""
    whole = int(abs(value))
    whole += abs(value) - whole >= 0.5
    return whole if value >= 0 else -whole


def scale_request(
    request: Int64, resources: Sequence[str], factors: Percentages, known: Sequence[str]
) -> Float64:
    """Return the expected use of a task with ``request`` (int64[K]) by the factors alone: float64[R]."""
    position = {name: index for index, name in enumerate(resources)}
    return np.array(
        [
            float(request[position[name]]) * factors.get(name, 0) / 100.0 if name in position else 0.0
            for name in known
        ]
    )


DEFAULT_INTERVAL = 60.0
"""Seconds between reports if their source does not state it."""

Places: TypeAlias = Int64 | slice
"""Places in ``Load.assigned``."""

ALL = slice(None)


@dataclass(frozen=True, slots=True)
class RunningTasks:
    """The A tasks on machines, of P kinds.

    ``expected``: float64[R, P], estimates by kind; ``prod``: bool[P], kinds of class koord-prod; ``columns``: the
    column in ``Assigned.usage`` of each of the R resources of ``Settings.known``; ``estimated``: bool[A], whether the
    estimate counts beside reported use. Amounts are whole numbers in floating point, and sums of them are exact below
    2**53.
    """

    assigned: Assigned
    expected: Float64
    prod: Bool
    columns: tuple[int | None, ...]
    estimated: Bool

    @classmethod
    def from_machines(cls, machines: MachineColumns, load: Load, settings: Settings) -> RunningTasks:
        """Return the tasks on ``machines``."""
        assigned = load.assigned
        kinds = estimate_tasks(assigned.kinds, assigned.requests, machines.resources, settings)
        # Pods that only reserve a place for other pods use nothing themselves.
        holding = [row.annotations.get(RESERVE_POD) == "true" for row in assigned.kinds]
        counted = ~np.array(holding, dtype=np.bool_)
        return cls(
            assigned=assigned,
            expected=kinds.amounts.T.astype(np.float64) * counted,
            prod=kinds.prod & counted,
            columns=tuple(machines.column(name) for name in settings.known),
            estimated=~assigned.reported | _estimate_counts(machines, load, kinds),
        )

    def alone(self, position: int, places: Places) -> Float64:
        """Return the tasks' estimates of one resource, whatever reports say: float64[N]."""
        return self.expected[position][self.assigned.kind[places]]

    def get_used(self, position: int, places: Places) -> Float64:
        """Return tasks' reported use of one resource, 0 without a report: float64[N]."""
        column = self.columns[position]
        if column is None:
            return np.zeros(len(self.assigned.machine[places]))
        return np.ceil(self.assigned.usage[places, column])

    def get_excess(self, position: int, places: Places) -> Float64:
        """Return by how much estimates exceed reported use for tasks of which both count, 0 for others: float64[N]."""
        excess = np.maximum(self.alone(position, places) - self.get_used(position, places), 0.0)
        return excess * self.estimated[places]

    def prod_alone(self, position: int, places: Places) -> Float64:
        """Return the estimates of prod tasks, 0 for others: float64[N]."""
        return self.alone(position, places) * self.prod[self.assigned.kind[places]]

    def prod_use(self, position: int, places: Places) -> Float64:
        """Return the use of prod tasks, reported or estimated, 0 for others: float64[N]."""
        figures = self.get_used(position, places) + self.get_excess(position, places)
        view = np.where(self.active(places), figures, self.alone(position, places))
        return view * self.prod[self.assigned.kind[places]]

    def active(self, places: Places) -> Bool:
        """Return which tasks the report, too, calls prod tasks: bool[N]."""
        assigned = self.assigned
        return self.prod[assigned.kind[places]] & assigned.reported[places] & assigned.prod[places]

    def sum_by_machine(self, amounts: Float64, places: Places, machines: int) -> Int64:
        """Add up ``amounts`` (float64[N]) per machine: int64[machines]."""
        there = self.assigned.machine[places]
        return np.bincount(there, weights=amounts, minlength=machines).astype(np.int64)


def _estimate_counts(machines: MachineColumns, load: Load, kinds: Estimates) -> Bool:
    """Return whether a task's estimate counts beside reported use, which may be too old or too early: bool[A]."""
    assigned = load.assigned
    interval = np.where(load.interval > 0, load.interval, DEFAULT_INTERVAL)
    shows_until = machines.usage_time - interval
    # also counts where the time is not known
    counts: Bool = ~(shows_until.take(assigned.machine) >= assigned.time)
    lasting = (kinds.after_scheduled > 0) | (kinds.after_initialized > 0)
    if lasting.any():
        places = np.flatnonzero(lasting.take(assigned.kind))
        counts[places] |= _deadline(assigned, kinds, places) > machines.usage_time[assigned.machine[places]]
    return counts


def _deadline(assigned: Assigned, kinds: Estimates, places: Int64) -> Float64:
    """Return the time up to which the estimate of each task counts: float64[N]; minus infinity: never; NaN: unknown."""
    kind, time, initialized = assigned.kind[places], assigned.time[places], assigned.initialized[places]
    after_scheduled, after_initialized = kinds.after_scheduled[kind], kinds.after_initialized[kind]
    deadline = np.where(after_scheduled > 0, time + after_scheduled, -np.inf)
    known = (after_initialized > 0) & ~np.isnan(initialized)
    return np.where(known, initialized + after_initialized, deadline)
