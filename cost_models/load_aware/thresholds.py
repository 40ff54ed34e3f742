"""Thresholds of use: which thresholds a machine has, and how much more of a resource may be used before one is reached.

One set of thresholds counts for a task: the prod thresholds if the task is of class koord-prod and the machine has
some, else the thresholds of the whole machine, aggregated or not. All amounts are whole numbers, so that rounding
never hides a reached threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64, MachineColumns
from cost_models.load_aware.annotations import NodeAnnotations
from cost_models.load_aware.arguments import Aggregation, Rounding, Settings
from cost_models.load_aware.defaults import Percentages

MOST_PERCENT = 500
"""Most percent; higher thresholds count as this, because products with amounts must stay within 64 bits."""

NO_LIMIT = np.iinfo(np.int64).max // 4
"""The room of a machine without a threshold; sums with it stay within 64 bits."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds of M machines in percent, by resource of ``Settings.known``: int64[M, R], 0 for none.

    ``whole``: for the use of all tasks. ``aggregation``: int64[M], index into ``aggregations``: which statistic of use
    counts. ``prod``: for the use of prod tasks. ``allocatable``: int64[M, R], the amounts that are 100 percent.
    """

    whole: Int64
    aggregation: Int64
    aggregations: tuple[Aggregation, ...]
    prod: Int64
    allocatable: Int64


def find_thresholds(machines: MachineColumns, settings: Settings, custom: NodeAnnotations) -> Thresholds:
    """Return the thresholds of all machines: those of the machine's annotation, else those of the configuration."""
    count = machines.count
    common = settings.aggregated_thresholds or settings.thresholds
    whole = np.tile(_vector(common, settings), (count, 1))
    prod = np.tile(_vector(settings.prod_thresholds, settings), (count, 1))
    aggregation = np.zeros(count, dtype=np.int64)
    aggregations = [settings.filter_aggregation if settings.aggregated_thresholds else Aggregation()]
    for row, own in custom.thresholds.items():
        if own.aggregated:
            whole[row] = _vector(own.aggregated, settings)
            if own.aggregation not in aggregations:
                aggregations.append(own.aggregation)
            aggregation[row] = aggregations.index(own.aggregation)
        elif own.usage and not settings.aggregated_thresholds:
            whole[row] = _vector(own.usage, settings)
        if own.prod:
            prod[row] = _vector(own.prod, settings)
    allocatable = allocatable_amounts(machines, settings, custom.allocatable)
    return Thresholds(whole, aggregation, tuple(aggregations), prod, allocatable)


def allocatable_amounts(
    machines: MachineColumns, settings: Settings, own: Mapping[int, Mapping[str, int]]
) -> Int64:
    """Return what machines offer of the resources that count, by their annotation if they have one: int64[M, R]."""
    amounts = np.zeros((machines.count, len(settings.known)), dtype=np.int64)
    for position, name in enumerate(settings.known):
        column = machines.column(name)
        if column is not None:
            amounts[:, position] = machines.capacity[:, column]
    for row, stated in own.items():
        for position, name in enumerate(settings.known):
            if name in stated:
                amounts[row, position] = stated[name]
    return amounts


def compute_headroom(percent: Int64, allocatable: Int64, used: Int64, rounding: Rounding) -> Int64:
    """Return how much more may be used below the thresholds: int64[M, R], negative where one is exceeded.

    ``exact``: use must stay below ``percent`` of ``allocatable``. ``upstream``: the percentage of use, computed in
    floating point and rounded to a whole number, halves up, must not exceed ``percent``. ``NO_LIMIT`` without a
    threshold or without the resource.
    """
    limited = (percent > 0) & (allocatable > 0)
    if limited.all():
        return _LARGEST[rounding](percent, allocatable) - used
    limit = _LARGEST[rounding](np.where(limited, percent, 1), np.where(limited, allocatable, 1))
    return np.where(limited, limit - used, NO_LIMIT)


def _largest_below(percent: Int64, allocatable: Int64) -> Int64:
    """Return the largest use t that stays below the threshold: 100 t < percent x allocatable."""
    return (percent * allocatable - 1) // 100


def _largest_rounding_down(percent: Int64, allocatable: Int64) -> Int64:
    """Return the largest t whose percentage, computed and rounded as Go does, does not exceed ``percent``.

    The exact solution of 200 t < (2 percent + 1) allocatable is off by one at most: the percentage has an error of
    two roundings.
    """

    def exceeds(total: Int64) -> Bool:
        share = total.astype(np.float64) / allocatable.astype(np.float64) * 100.0
        return share >= percent + 0.5  # rounding halves away from zero

    total = ((2 * percent + 1) * allocatable - 1) // 200
    for _ in range(2):
        total = np.where(exceeds(total), total - 1, total)
    for _ in range(2):
        total = np.where(exceeds(total + 1), total, total + 1)
    return total


_LARGEST: Mapping[Rounding, Callable[[Int64, Int64], Int64]] = {
    "exact": _largest_below,
    "upstream": _largest_rounding_down,
}


def _vector(percentages: Percentages, settings: Settings) -> Int64:
    """Return the percentages of the configured resources in their order.

    Negative percentages become 0, which stands for no threshold.
    """
    values = [min(max(percentages.get(name, 0), 0), MOST_PERCENT) for name in settings.known]
    return np.array(values, dtype=np.int64)
