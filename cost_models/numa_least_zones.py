"""The strategy LeastNUMANodes: the fewer zones a task needs, and the nearer they are to each other, the better.

Source: kubernetes-sigs/scheduler-plugins, pkg/noderesourcetopology/least_numa.go:

    for k = 1 ..: sets of k zones in order; one counts only if each of its zones lists every requested resource; it
        fits if together they have what is asked for. Of those that fit, one whose mean distance is the least of all
        sets of k zones is optimal; else the nearest is taken, and is not optimal.
    step  = 100 / max NUMA nodes             (integers)
    score = 100 - k x step + (step / 2 if optimal); 0 if nothing fits

A mean distance is that over all ordered pairs of zones of a set, each with itself among them. Requests that touch no
resource of any zone score 100. In container scope k is the largest of all containers, init containers among them, each
subtracted from its zones, and the whole is optimal if every part is. Any policy is scored.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from cost_models.numa_masks import MOST_ZONES, spread_over
from cost_models.numa_requests import Requests
from cost_models.numa_scores import PERFECT
from cost_models.numa_zones import ZoneTable

MOST_SETS = 20_000
"""Sets of zones of one size that are looked at. The kubelet aligns at most 8 zones, which have at most 70."""


def least_zones_scores(table: ZoneTable, available: Int64, requests: Requests, shapes: int) -> Float64:
    """Scores of the first ``shapes`` shapes on every machine: float64[shapes, M]; ``available``: int64[R, M, Z]."""
    step = PERFECT // table.max_zones
    scores = np.zeros((shapes, table.machines))
    distances = _MeanDistances.between(table)
    known = np.flatnonzero(table.known & (table.zones > 0))
    zoneless = table.known & (table.zones == 0)
    for shape in range(shapes):
        if not requests.guaranteed[shape]:
            scores[shape] = PERFECT
            continue
        scores[shape, zoneless] = PERFECT
        for pod_scope in (True, False):
            machines = known[table.pod_scope[known] == pod_scope]
            if len(machines) == 0:
                continue
            apps, init = int(requests.apps[shape]), len(requests.init_names[shape])
            units = [*requests.init_amounts[shape, :init], *requests.amounts[shape, 1 : apps + 1]]
            if pod_scope:
                units = [requests.amounts[shape, 0]]
            size, optimal = _sizes(table, distances, available[:, machines], machines, units)
            score = PERFECT - size * step[machines] + np.where(optimal, step[machines] // 2, 0)
            scores[shape, machines] = np.where(size == 0, PERFECT, np.where(size < 0, 0, score))
    return np.clip(scores, 0, PERFECT)


@dataclass(frozen=True, slots=True)
class _MeanDistances:
    """Mean distances of sets of zones on all machines, each worked out once."""

    table: ZoneTable
    single: Float64
    known: dict[tuple[int, ...], Float64]

    @classmethod
    def between(cls, table: ZoneTable) -> _MeanDistances:
        """None worked out yet but those of single zones: float64[M, Z]."""
        return cls(table, np.diagonal(table.distance, axis1=1, axis2=2).astype(np.float64), {})

    def of(self, zones: tuple[int, ...]) -> Float64:
        """float64[M]: over all ordered pairs."""
        if zones not in self.known:
            members = np.array(zones)
            self.known[zones] = self.table.distance[:, members[:, None], members].mean(axis=(1, 2))
        return self.known[zones]


def _sizes(
    table: ZoneTable, distances: _MeanDistances, left: Int64, machines: Int64, units: list[Int64]
) -> tuple[Int64, Bool]:
    """The most zones that a unit needs on each machine, -1 if one fits nowhere, 0 if none touches a zone; int64[A].

    And whether all choices are optimal: bool[A]. ``left``: int64[R, A, Z], is booked on.
    """
    most = np.zeros(len(machines), dtype=np.int64)
    optimal = np.ones(len(machines), dtype=np.bool_)
    for number, unit in enumerate(units, 1):
        rows = np.flatnonzero(unit > 0)
        touched = table.listed[np.ix_(rows, machines)].any(axis=(0, 2))
        where = np.flatnonzero(touched & (most >= 0))
        at = np.ix_(rows, where)
        local = left[at]
        size, best, chosen = _choose(table, distances, local, machines[where], unit[rows], rows)
        most[where] = np.where(size < 0, -1, np.maximum(most[where], size))
        optimal[where] &= best
        if number < len(units):
            wanted = np.repeat(unit[rows][:, None], len(where), axis=1)
            left[at] = local - spread_over(local, wanted, chosen)
    return most, optimal


def _choose(
    table: ZoneTable, distances: _MeanDistances, left: Int64, machines: Int64, wanted: Int64, rows: Int64
) -> tuple[Int64, Bool, Bool]:
    """Zones for one request: int64[A] how many, -1 for none; bool[A] optimal; bool[A, Z] which.

    ``left``: int64[r, A, Z] of the requested resources ``rows``; ``wanted``: int64[r].
    """
    width = left.shape[2]
    lists_all: Bool = np.all(table.listed[np.ix_(rows, machines)], axis=0)
    there = np.arange(width) < table.zones[machines][:, None]
    size, optimal, chosen = _single(distances, left, machines, wanted, there, lists_all)
    largest = np.sort(np.where(there & lists_all, left, 0)[:, size < 0], axis=2)[:, :, ::-1].cumsum(axis=2)
    open_ = np.flatnonzero(size < 0)
    for count in range(2, min(width, MOST_ZONES) + 1):
        enough = (largest[:, :, count - 1] >= wanted[:, None]).all(axis=0)
        where = open_[enough & (size[open_] < 0) & (table.zones[machines[open_]] >= count)]
        if len(where) == 0:
            continue
        nearest = np.full(len(where), np.inf)
        least = np.full(len(where), np.inf)
        found = np.full((len(where), count), -1)
        here, listing = left[:, where], lists_all[where]
        for zones in islice(combinations(range(width), count), MOST_SETS):
            members = list(zones)
            exists = there[where, zones[-1]]
            distance = distances.of(zones)[machines[where]]
            least = np.where(exists, np.minimum(least, distance), least)
            enough = (here[:, :, members].sum(axis=2) >= wanted[:, None]).all(axis=0)
            fits = exists & enough & listing[:, members].all(axis=1)
            better = fits & (distance < nearest)
            nearest[better] = distance[better]
            found[better] = members
        fitting = np.flatnonzero(np.isfinite(nearest))
        size[where[fitting]] = count
        optimal[where[fitting]] = nearest[fitting] == least[fitting]
        chosen[where[fitting][:, None], found[fitting]] = True
    return size, optimal, chosen


def _single(
    distances: _MeanDistances, left: Int64, machines: Int64, wanted: Int64, there: Bool, lists_all: Bool
) -> tuple[Int64, Bool, Bool]:
    """As ``_choose``, of sets of one zone; ``there``, ``lists_all``: bool[A, Z]."""
    local = distances.single[machines]
    fits = there & lists_all
    for row, amount in enumerate(wanted.tolist()):
        fits &= left[row] >= amount
    distance = np.where(fits, local, np.inf)
    zone = distance.argmin(axis=1)
    at = np.arange(len(machines))
    found = fits[at, zone]
    chosen = np.zeros(fits.shape, dtype=np.bool_)
    chosen[at, zone] = found
    least = np.where(there, local, np.inf).min(axis=1)
    return np.where(found, 1, -1), found & (distance[at, zone] == least), chosen
