"""What each machine is taken to use: what was reported, corrected for the tasks that reports do not show yet.

Koordinator's rule. With U the time of a machine's report, I the interval of reports, e the estimate of a task and u
its reported use (or none): a task's estimate counts where it exceeds u, if

    there is no u,  or  U - I < the time when it got the machine,  or  the estimate is to count until after U.

Of tasks of class koord-prod that the report does not take for such, u counts as none in the view of prod tasks.
Pods that stand for a reservation do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Assigned, Bool, Float64, Int64, Load, MachineColumns
from cost_models.load_threshold_annotations import stands_for_reservation
from cost_models.load_threshold_arguments import AGGREGATIONS, Aggregation, Settings
from cost_models.load_threshold_estimates import Estimates, estimates
from cost_models.load_threshold_risk import FIGURE_DRAWS

DEFAULT_INTERVAL = 60.0
"""Seconds between reports of a source that does not say."""


@dataclass(frozen=True, slots=True)
class Use:
    """Use of each machine in the resources of ``Settings.known``: int64[M, R] each.

    ``reported``: the last figures; ``delta``: by how much estimates exceed them; ``estimated``: estimates of all
    tasks alone; ``prod``: use of tasks of class koord-prod, estimates included; ``prod_estimated``: their estimates
    alone. ``measured``: bool[M], there are last figures. ``fresh``: bool[M], the last report is not expired.
    ``spread``: how far tasks may be off, if that counts. ``given``: what goes with each task.
    """

    reported: Int64
    delta: Int64
    estimated: Int64
    prod: Int64
    prod_estimated: Int64
    measured: Bool
    fresh: Bool
    spread: Spread
    given: Given


@dataclass(frozen=True, slots=True)
class Given:
    """By how much the use of a machine is lower for certain once a task has left it: float64[R, A], whole numbers.

    ``beyond``: by which its estimate exceeds what is reported of it; what is reported of the machine stays, as nobody
    knows how much of it was the task's. ``estimated``: of estimates alone. ``prod``, ``prod_estimated``: of the use of
    prod tasks, which is a sum over single tasks. ``machine``: int64[A].
    """

    machine: Int64
    beyond: Float64
    estimated: Float64
    prod: Float64
    prod_estimated: Float64


@dataclass(frozen=True, slots=True)
class Spread:
    """Variance of what the tasks of each machine use, by the configured deviation: float64[M, R] each, 0 if there is
    none. ``reported``: about figures and estimates, ``estimated``: about estimates alone; of prod tasks likewise.
    """

    reported: Float64
    estimated: Float64
    prod: Float64
    prod_estimated: Float64


def machine_use(machines: MachineColumns, load: Load, settings: Settings, *, prod: bool = True) -> Use:
    """Work out the use of all machines; without ``prod`` that of prod tasks stays 0."""
    columns = [machines.column(name) for name in settings.known]
    tasks = _Tasks.of(machines, load, settings)
    shape = (machines.count, len(columns))
    delta, estimated, prod_use, prod_estimated = (np.zeros(shape, dtype=np.int64) for _ in range(4))
    spread = Spread(*(np.zeros(shape) for _ in range(4)))
    given = Given(load.assigned.machine, *(np.zeros((len(columns), tasks.count)) for _ in range(4)))
    for position, (column, name) in enumerate(zip(columns, settings.known, strict=True)):
        expected, used = tasks.amounts(position, column)
        excess = np.maximum(expected - used, 0.0) * tasks.estimated
        deviation = settings.risk.deviation.get(name, 0.0)
        if deviation:
            tasks.add_variances(spread, position, deviation, (expected, used, excess))
        given.beyond[position], given.estimated[position] = excess, expected
        delta[:, position] = tasks.summed(excess, machines.count)
        estimated[:, position] = tasks.summed(expected, machines.count)
        if prod:
            view = np.where(tasks.active, used + excess, expected) * tasks.prod
            given.prod[position], given.prod_estimated[position] = view, expected * tasks.prod
            prod_use[:, position] = tasks.summed(view, machines.count)
            prod_estimated[:, position] = tasks.summed(given.prod_estimated[position], machines.count)
    if prod and settings.prod_includes_system:
        prod_use += whole(_chosen(load.system, columns))
    measured: Bool = np.asarray(~np.isnan(machines.usage).all(axis=1)) & load.reported
    return Use(
        reported=whole(np.where(measured[:, None], _chosen(machines.usage, columns), 0.0)),
        delta=delta,
        estimated=estimated,
        prod=prod_use,
        prod_estimated=prod_estimated,
        measured=measured,
        fresh=_fresh(machines, settings),
        spread=spread,
        given=given,
    )


@dataclass(frozen=True, slots=True)
class _Tasks:
    """The tasks on machines. ``expected``: float64[R, kinds], their estimates. bool[A]: ``estimated``, the estimate
    counts beside what is reported; ``prod``, of class koord-prod; ``active``, and the report takes them for such.

    Amounts are whole numbers in floating point, and sums of them exact below 2**53.
    """

    assigned: Assigned
    expected: Float64
    estimated: Bool
    prod: Bool
    active: Bool

    @classmethod
    def of(cls, machines: MachineColumns, load: Load, settings: Settings) -> _Tasks:
        assigned = load.assigned
        kinds = estimates(assigned.kinds, assigned.requests, machines.resources, settings)
        counted = np.array([not stands_for_reservation(row) for row in assigned.kinds], dtype=np.bool_)
        prod = (kinds.prod & counted)[assigned.kind]
        return cls(
            assigned=assigned,
            expected=kinds.amounts.T.astype(np.float64) * counted,
            estimated=~assigned.reported | _estimate_counts(machines, load, kinds),
            prod=prod,
            active=prod & assigned.reported & assigned.prod,
        )

    @property
    def count(self) -> int:
        """A, the number of tasks."""
        return len(self.assigned.machine)

    def amounts(self, position: int, column: int | None) -> tuple[Float64, Float64]:
        """Estimates and reported use of one resource: float64[A] each."""
        expected = self.expected[position][self.assigned.kind]
        used = np.zeros_like(expected) if column is None else np.ceil(self.assigned.usage[:, column])
        return expected, used

    def summed(self, amounts: Float64, machines: int) -> Int64:
        """Sum of ``amounts`` (float64[A]) per machine: int64[machines]."""
        return np.bincount(self.assigned.machine, weights=amounts, minlength=machines).astype(np.int64)

    def add_variances(
        self, spread: Spread, position: int, deviation: float, amounts: tuple[Float64, Float64, Float64]
    ) -> None:
        """Fill in one resource: ``amounts`` are estimates, reported use, and by how much the first exceed it."""
        expected, used, excess = amounts
        by_figure = self.assigned.reported & (excess == 0)
        guess = (deviation * expected) ** 2
        known = (deviation * (used + excess)) ** 2 * np.where(by_figure, FIGURE_DRAWS, 1.0)
        known = np.where(self.assigned.reported, known, guess)
        for found, variance in (
            (spread.reported, known),
            (spread.estimated, guess),
            (spread.prod, np.where(self.active, known, guess) * self.prod),
            (spread.prod_estimated, guess * self.prod),
        ):
            found[:, position] = np.bincount(self.assigned.machine, weights=variance, minlength=len(found))


def aggregated(
    machines: MachineColumns, load: Load, use: Use, settings: Settings, aggregation: Aggregation
) -> Int64:
    """Use of each machine, all tasks together, by an aggregation: int64[M, R].

    Where a period was asked for and there are no figures of it, the estimates of all tasks; where any period would
    do and there is none, the last figures.
    """
    plain = use.reported + use.delta
    if not aggregation.kind:
        return plain
    if aggregation.kind not in AGGREGATIONS:  # an annotation may name anything
        return plain if aggregation.seconds == 0 else use.estimated
    window = load.windows.usage(aggregation.kind, aggregation.seconds)
    there: Bool = np.asarray(~np.isnan(window).all(axis=1))
    columns = [machines.column(name) for name in settings.known]
    figures = whole(np.where(there[:, None], _chosen(window, columns), 0.0)) + use.delta
    return np.where(there[:, None], figures, plain if aggregation.seconds == 0 else use.estimated)


def whole(amounts: Float64) -> Int64:
    """Amounts as whole numbers, rounded up."""
    return np.ceil(amounts).astype(np.int64)


def _estimate_counts(machines: MachineColumns, load: Load, kinds: Estimates) -> Bool:
    """bool[A]: the estimate of a task counts beside reported use, since that may be older, or too early to tell."""
    assigned = load.assigned
    report = machines.usage_time[assigned.machine]
    interval = np.where(load.interval > 0, load.interval, DEFAULT_INTERVAL)[assigned.machine]
    too_old = ~(report - interval >= assigned.time)  # also where the time is not known
    after_scheduled = kinds.after_scheduled[assigned.kind]
    after_initialized = kinds.after_initialized[assigned.kind]
    initialized = ~np.isnan(assigned.initialized)
    deadline = np.where(after_scheduled > 0, assigned.time + after_scheduled, -np.inf)
    deadline = np.where(
        (after_initialized > 0) & initialized, assigned.initialized + after_initialized, deadline
    )
    return too_old | (deadline > report)


def _fresh(machines: MachineColumns, settings: Settings) -> Bool:
    """bool[M]: the last report has a time, and is younger than the expiration."""
    time = machines.usage_time
    return (time > 0) & (machines.now - time < settings.expiration)


def _chosen(amounts: Float64, columns: Sequence[int | None]) -> Float64:
    """The columns of the resources that count, zeros for those that nobody knows: float64[rows, R]."""
    found = np.zeros((len(amounts), len(columns)))
    for position, column in enumerate(columns):
        if column is not None:
            found[:, position] = amounts[:, column]
    return found
