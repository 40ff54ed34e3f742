"""What each machine is taken to use: what was reported, corrected for the tasks that reports do not show yet.

Koordinator's rule. With U the time of a machine's report, I the interval of reports, e the estimate of a task and u
its reported use (or none): a task's estimate counts where it exceeds u, if

    there is no u,  or  U - I < the time when it got the machine,  or  the estimate is to count until after U.

Of tasks of class koord-prod that the report does not take for such, u counts as none in the view of prod tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Float64, Int64, Load, MachineColumns
from cost_models.load_threshold_arguments import Aggregation, Settings
from cost_models.load_threshold_estimates import Estimates, estimates

DEFAULT_INTERVAL = 60.0
"""Seconds between reports of a source that does not say."""


@dataclass(frozen=True, slots=True)
class Use:
    """Use of each machine in the resources of ``Settings.known``: int64[M, R] each.

    ``reported``: the last figures; ``delta``: by how much estimates exceed them; ``estimated``: estimates of all
    tasks alone; ``prod``: use of tasks of class koord-prod, estimates included; ``prod_estimated``: their estimates
    alone. ``measured``: bool[M], there are last figures. ``fresh``: bool[M], the last report is not expired.
    """

    reported: Int64
    delta: Int64
    estimated: Int64
    prod: Int64
    prod_estimated: Int64
    measured: Bool
    fresh: Bool


def machine_use(machines: MachineColumns, load: Load, settings: Settings) -> Use:
    """Work out the use of all machines."""
    columns = [machines.column(name) for name in settings.known]
    assigned = load.assigned
    kinds = estimates(assigned.kinds, assigned.requests, machines.resources, settings)
    used = whole(_chosen(assigned.usage, columns))
    expected = kinds.amounts[assigned.kind]
    counts: Bool = np.asarray(expected.any(axis=1))  # a task without any estimate contributes nothing
    early = assigned.reported & ~_estimate_counts(machines, load, kinds)
    excess = np.maximum(expected - used, 0)
    prod = kinds.prod[assigned.kind]
    active = prod & assigned.reported & assigned.prod
    prod_excess = np.where(active[:, None], np.where(early[:, None], 0, excess), expected)
    count = machines.count
    prod_use = _summed(assigned.machine, used, active, count)
    prod_use += _summed(assigned.machine, prod_excess, prod & counts, count)
    if settings.prod_includes_system:
        prod_use += whole(_chosen(load.system, columns))
    reported = _chosen(machines.usage, columns)
    measured = ~np.isnan(machines.usage).all(axis=1) & load.reported
    return Use(
        reported=whole(np.where(measured[:, None], reported, 0.0)),
        delta=_summed(assigned.machine, excess, counts & ~early, count),
        estimated=_summed(assigned.machine, expected, counts, count),
        prod=prod_use,
        prod_estimated=_summed(assigned.machine, expected, prod & counts, count),
        measured=measured,
        fresh=_fresh(machines, settings),
    )


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


def _summed(machine: Int64, amounts: Int64, counted: Bool, machines: int) -> Int64:
    """Sum of ``amounts`` (int64[A, R]) of those that count, per machine: int64[machines, R]; exact below 2**53."""
    total = np.zeros((machines, amounts.shape[1]), dtype=np.int64)
    where = machine[counted]
    for position in range(amounts.shape[1]):
        weights = amounts[counted, position].astype(np.float64)
        total[:, position] = np.bincount(where, weights=weights, minlength=machines).astype(np.int64)
    return total
