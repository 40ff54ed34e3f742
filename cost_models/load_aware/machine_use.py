"""Estimates the use of each machine: the reported use, corrected for tasks that reports do not show yet.

`task_use` says how single tasks count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.api.arrays import any_of_row
from cost_models.interface import Bool, Float64, Int64, Load, MachineColumns
from cost_models.load_aware.arguments import AGGREGATIONS, Aggregation, Settings
from cost_models.load_aware.task_use import ALL, RunningTasks


@dataclass(frozen=True, slots=True)
class Use:
    """The use of M machines in the R resources of ``Settings.known``."""

    machines: MachineColumns
    """The machines."""
    load: Load
    """Reports of the tasks' use."""
    settings: Settings
    """The model's arguments."""
    reported: Int64
    """int64[M, R], the last reported figures."""
    delta: Int64
    """int64[M, R], by how much estimates exceed the reported figures."""
    estimated: Int64
    """int64[M, R], estimates of all tasks."""
    prod: Int64
    """int64[M, R], use by koord-prod tasks, with estimates."""
    prod_estimated: Int64
    """int64[M, R], estimates of koord-prod tasks."""
    measured: Bool
    """bool[M], whether the machine has reported figures."""
    fresh: Bool
    """bool[M], whether the last report is not expired."""
    tasks: RunningTasks
    """The tasks on the machines, with estimates and reported use."""

    def aggregate(self, aggregation: Aggregation) -> Int64:
        """Return a statistic (such as a percentile) of the use of each whole machine: int64[M, R].

        If a report has no figures of the wanted period, the estimates of all tasks take their place; if any period
        would do, the last figures do.
        """
        plain = self.reported + self.delta
        if not aggregation.kind:
            return plain
        otherwise = plain if aggregation.seconds == 0 else self.estimated
        if aggregation.kind not in AGGREGATIONS:  # an annotation may name an unknown type of aggregation
            return otherwise
        window = self.load.windows.usage(aggregation.kind, aggregation.seconds)
        there = any_of_row(~np.isnan(window))
        figures = round_up(_mask_unknown(there, _select_columns(window, self.tasks.columns))) + self.delta
        return np.where(there[:, None], figures, otherwise)


def estimate_machine_use(
    machines: MachineColumns, load: Load, settings: Settings, *, prod: bool = True, alone: bool = True
) -> Use:
    """Estimate the use of all machines; without ``prod``, the use of prod tasks stays 0.

    Without ``alone``, the estimates of machines with fresh figures are also left out, where no code reads them.
    """
    tasks = RunningTasks.from_machines(machines, load, settings)
    measured = any_of_row(~np.isnan(machines.usage)) & load.reported
    time = machines.usage_time
    fresh = (time > 0) & (machines.now - time < settings.expiration)
    late = np.flatnonzero(tasks.estimated)
    guessed = ALL if alone else np.flatnonzero(~(measured & fresh).take(load.assigned.machine))
    delta, estimated, prod_use, prod_estimated = (
        np.zeros((machines.count, len(settings.known)), dtype=np.int64) for _ in range(4)
    )
    for position in range(len(settings.known)):
        delta[:, position] = tasks.sum_by_machine(tasks.get_excess(position, late), late, machines.count)
        estimated[:, position] = tasks.sum_by_machine(tasks.alone(position, guessed), guessed, machines.count)
        if prod:
            prod_use[:, position] = tasks.sum_by_machine(tasks.prod_use(position, ALL), ALL, machines.count)
            prod_estimated[:, position] = tasks.sum_by_machine(
                tasks.prod_alone(position, ALL), ALL, machines.count
            )
    if prod and settings.prod_includes_system:
        prod_use += round_up(_select_columns(load.system, tasks.columns))
    return Use(
        machines,
        load,
        settings,
        reported=round_up(_mask_unknown(measured, _select_columns(machines.usage, tasks.columns))),
        delta=delta,
        estimated=estimated,
        prod=prod_use,
        prod_estimated=prod_estimated,
        measured=measured,
        fresh=fresh,
        tasks=tasks,
    )


def round_up(amounts: Float64) -> Int64:
    """Return amounts as whole numbers, rounded up."""
    return np.ceil(amounts).astype(np.int64)


def _mask_unknown(there: Bool, amounts: Float64) -> Float64:
    """Return ``amounts`` (float64[M, R]) of the machines that are ``there`` (bool[M]), 0 of others."""
    return amounts if there.all() else np.where(there[:, None], amounts, 0.0)


def _select_columns(amounts: Float64, columns: Sequence[int | None]) -> Float64:
    """Return the columns of the resources that thresholds can be about, zeros for absent ones: float64[rows, R]."""
    found = np.zeros((len(amounts), len(columns)))
    for position, column in enumerate(columns):
        if column is not None:
            found[:, position] = amounts[:, column]
    return found
