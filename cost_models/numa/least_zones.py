"""Scores by LeastNUMANodes: the fewer zones a task needs, and the nearer they are to each other, the better.

Source: kubernetes-sigs/scheduler-plugins, pkg/noderesourcetopology/least_numa.go:

    for k = 1 ..: sets of k zones in order; one counts only if each of its zones lists every requested resource; it
        fits if together they have what is asked for. Of the sets that fit, a set whose mean distance is the least of
        all sets of k zones is optimal; otherwise the nearest set is taken, and is not optimal.
    step  = 100 / max NUMA nodes             (integers)
    score = 100 - k x step + (step / 2 if optimal); 0 if nothing fits

The mean distance of a set is over all ordered pairs of its zones, including each zone with itself. A request for no
resource of any zone scores 100. In container scope, k is the largest number of zones that any container or init
container needs. Each container's request is subtracted from its zones, and the task is optimal if all its containers
are. Machines are scored under any policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, islice

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from cost_models.numa.records import LARGEST
from cost_models.numa.requests import Requests
from cost_models.numa.scores import PERFECT
from cost_models.numa.zone_sets import MOST_ZONES, spread_over
from cost_models.numa.zones import ZoneTable

SETS_AT_ONCE = 128
"""How many sets of zones are compared at a time; bounds memory."""

MOST_SETS = 20_000
"""Most sets of one size that are compared. The kubelet aligns at most 8 zones, which have at most 70."""


def least_zones_scores(table: ZoneTable, available: Int64, requests: Requests, shapes: int) -> Float64:
    """Return scores of the first ``shapes`` shapes on every machine: float64[shapes, M]; ``available``:
    int64[R, M, Z].
    """
    step = PERFECT // table.max_zones
    scores = np.zeros((shapes, table.machines))
    known = np.flatnonzero(table.known & (table.zones > 0))
    zoneless = table.known & (table.zones == 0)
    whole, apart = (
        _Zones.from_table(table, available, known[table.pod_scope[known] == pod_scope])
        for pod_scope in (True, False)
    )
    for shape in range(shapes):
        if not requests.guaranteed[shape]:
            scores[shape] = PERFECT
            continue
        scores[shape, zoneless] = PERFECT
        apps, init = int(requests.apps[shape]), len(requests.init_names[shape])
        units = [*requests.init_amounts[shape, :init], *requests.amounts[shape, 1 : apps + 1]]
        for zones, asked in ((whole, [requests.amounts[shape, 0]]), (apart, units)):
            machines = zones.machines
            size, optimal = _sizes(zones, asked)
            score = PERFECT - size * step[machines] + np.where(optimal, step[machines] // 2, 0)
            scores[shape, machines] = np.where(size == 0, PERFECT, np.where(size < 0, 0, score))
    return np.clip(scores, 0, PERFECT)


@dataclass(frozen=True, slots=True)
class _Zones:
    """The zones of A machines, at most Z each, with R resources."""

    machines: Int64
    """int64[A], rows of the machines."""
    left: Int64
    """int64[R, A, Z], amounts left in the zones."""
    listed: Bool
    """bool[R, A, Z], whether a zone lists the resource."""
    anywhere: Bool
    """bool[R, A], whether some zone of the machine lists the resource."""
    there: Bool
    """bool[A, Z], whether the zone exists."""
    distance: Int64
    """int64[A, Z, Z], from zone to zone."""
    local: Int64
    """int64[A, Z], the distance of each zone from itself."""

    @classmethod
    def from_table(cls, table: ZoneTable, available: Int64, machines: Int64) -> _Zones:
        """Return the zones of some machines of a table."""
        listed, distance = table.listed.take(machines, axis=1), table.distance[machines]
        anywhere: Bool = np.any(listed, axis=2)
        return cls(
            machines=machines,
            left=available.take(machines, axis=1),
            listed=listed,
            anywhere=anywhere,
            there=table.there[machines],
            distance=distance,
            local=np.diagonal(distance, axis1=1, axis2=2).copy(),
        )


def _sizes(zones: _Zones, units: list[Int64]) -> tuple[Int64, Bool]:
    """Return the most zones that a unit needs on each machine, int64[A]: -1 if one fits nowhere, 0 if none is needed.

    Return also whether all choices are optimal: bool[A].
    """
    left = zones.left if len(units) == 1 else zones.left.copy()
    most = np.zeros(len(zones.machines), dtype=np.int64)
    optimal = np.ones(len(zones.machines), dtype=np.bool_)
    for number, unit in enumerate(units, 1):
        rows = np.flatnonzero(unit > 0)
        where = np.flatnonzero(zones.anywhere[rows].any(axis=0) & (most >= 0))
        local = left[rows] if len(where) == len(most) else left[np.ix_(rows, where)]
        size, best, chosen = _choose(zones, local, where, unit[rows], rows)
        most[where] = np.where(size < 0, -1, np.maximum(most[where], size))
        optimal[where] &= best
        if number < len(units):
            wanted = np.repeat(unit[rows][:, None], len(where), axis=1)
            left[np.ix_(rows, where)] = local - spread_over(local, wanted, chosen)
    return most, optimal


def _choose(zones: _Zones, left: Int64, where: Int64, wanted: Int64, rows: Int64) -> tuple[Int64, Bool, Bool]:
    """Choose zones for one request on the machines ``where``.

    Return how many zones, -1 for none, int64[B]; whether the choice is optimal, bool[B]; and the zones, bool[B, Z].
    ``left``: int64[r, B, Z] of the requested resources ``rows``; ``wanted``: int64[r].
    """
    lists_all: Bool = np.all(zones.listed[rows], axis=0)
    there, local = zones.there, zones.local
    if len(where) < len(zones.machines):
        lists_all, there, local = lists_all[where], there[where], local[where]
    size, optimal, chosen = _single(local, left, wanted, there, lists_all)
    open_ = np.flatnonzero(size < 0)
    listed = there[open_] & lists_all[open_]
    largest = np.sort(np.where(listed, left[:, open_], 0), axis=2)[:, :, ::-1].cumsum(axis=2)
    existing = there.sum(axis=1)[open_]
    for count in range(2, min(left.shape[2], MOST_ZONES) + 1):
        enough = (largest[:, :, count - 1] >= wanted[:, None]).all(axis=0)
        at = open_[enough & (size[open_] < 0) & (existing >= count)]
        if len(at) == 0:
            continue
        distance = zones.distance[where[at]]
        found, best, members = _nearest(left[:, at], there[at], lists_all[at], distance, wanted, count)
        fitting = at[found]
        size[fitting] = count
        optimal[fitting] = best[found]
        chosen[fitting[:, None], members[found]] = True
    return size, optimal, chosen


def _single(
    local: Int64, left: Int64, wanted: Int64, there: Bool, lists_all: Bool
) -> tuple[Int64, Bool, Bool]:
    """Choose single zones as ``_choose`` does. ``local``: int64[A, Z], each zone's distance from itself; ``there``,
    ``lists_all``: bool[A, Z].
    """
    fits = there & lists_all
    for row, amount in enumerate(wanted.tolist()):
        fits &= left[row] >= amount
    distance = np.where(fits, local, np.inf)
    zone = distance.argmin(axis=1)
    at = np.arange(len(local))
    found = fits[at, zone]
    chosen = np.zeros(fits.shape, dtype=np.bool_)
    chosen[at, zone] = found
    least = np.where(there, local, np.inf).min(axis=1)
    return np.where(found, 1, -1), found & (distance[at, zone] == least), chosen


@lru_cache(maxsize=64)
def _sets(width: int, count: int) -> Int64:
    """Return all sets of ``count`` of ``width`` zones, in order: int64[N, count], read-only."""
    sets = np.array(list(islice(combinations(range(width), count), MOST_SETS)), dtype=np.int64)
    sets.setflags(write=False)
    return sets


def _nearest(
    left: Int64, there: Bool, lists_all: Bool, between: Int64, wanted: Int64, count: int
) -> tuple[Bool, Bool, Int64]:
    """Return the nearest set of ``count`` zones that has ``wanted`` (int64[r]), the first of equals.

    ``left``: int64[r, A, Z]; ``there``, ``lists_all``: bool[A, Z]; ``between``: int64[A, Z, Z], distances of zones.
    The function returns whether such a set exists, bool[A]; whether no set at all is nearer, bool[A]; and its zones,
    int64[A, count].
    """
    machines, width = there.shape
    every = np.arange(machines)
    nearest, least = np.full((2, machines), np.inf)
    zones = np.zeros((machines, count), dtype=np.int64)
    pairwise = between.reshape(machines, width * width).astype(np.float64)
    for sets in np.array_split(_sets(width, count), -(-len(_sets(width, count)) // SETS_AT_ONCE)):
        member = np.zeros((width, len(sets)))
        member[sets.T, np.arange(len(sets))] = 1.0
        pairs = (member[:, None, :] * member[None, :, :]).reshape(width * width, len(sets))
        exists = there[:, sets[:, -1]]
        distance = np.where(exists, pairwise @ pairs / count**2, np.inf)
        least = np.minimum(least, distance.min(axis=1))
        fits = ((~lists_all).astype(np.float64) @ member == 0) & _enough(left, wanted, member)
        distance = np.where(fits, distance, np.inf)
        place = distance.argmin(axis=1)
        better = distance[every, place] < nearest
        nearest[better] = distance[every, place][better]
        zones[better] = sets[place[better]]
    return np.isfinite(nearest), nearest == least, zones


def _enough(left: Int64, wanted: Int64, member: Float64) -> Bool:
    """Return which sets have ``wanted``: bool[A, N]."""
    enough: Bool = np.ones((left.shape[1], member.shape[1]), dtype=np.bool_)
    for there, amount in zip(left, wanted.tolist(), strict=True):
        exact = int(there.max(initial=0)) < LARGEST // there.shape[1]
        sums = there.astype(np.float64) @ member if exact else there @ member.astype(np.int64)
        enough &= sums >= amount
    return enough
