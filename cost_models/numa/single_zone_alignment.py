"""Finds the NUMA zones of tasks under the policy single-numa-node on many machines, by pod or by container.

``left`` states what zones have left: int64[R, M, Z] for R resources and M machines with up to Z zones each. A unit
fits a zone that has ``threshold`` left (int64[R], negative for a resource that the unit does not request), and takes
``taken`` (int64[R]) of the zone. If a task is aligned as one unit, a division gives the number of tasks that fit a
zone.

Otherwise containers get zones in their order; each gets the lowest zone that still has room for all of it. If some
container gets no zone, the pod is not admitted and takes nothing. Init containers come first; each needs a zone with
room, but takes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64

UNLIMITED = np.int64(2**60)
"""Room on a machine that does not align tasks, and for a resource that no zone has."""

UNLISTED = -1
"""Amount left in a zone that does not list the resource, or does not exist."""


def slots_at(left: Int64, machines: Int64, threshold: Int64, taken: Int64) -> Int64:
    """Return how many units fit each zone of ``machines[i]``: int64[A, Z]; ``threshold``, ``taken``: int64[A, R]."""
    zones = left.shape[2]
    slots = np.full((len(machines), zones), UNLIMITED // zones)
    for row in np.flatnonzero((threshold >= 0).any(axis=0)).tolist():
        here = left[row, machines]
        each = taken[:, row, None]
        fits = np.where(each > 0, here // np.maximum(each, 1), UNLIMITED)
        fits[here < threshold[:, row, None]] = 0
        np.minimum(slots, fits, out=slots)
    return slots


def slots_everywhere(left: Int64, threshold: Int64, taken: Int64) -> Int64:
    """Return how many units fit each zone: int64[M, Z]; ``threshold``, ``taken``: int64[R], of one unit."""
    slots = np.full(left.shape[1:], UNLIMITED // left.shape[2])
    for row in np.flatnonzero(threshold >= 0).tolist():
        here, each = left[row], int(taken[row])
        if each > 0:
            np.minimum(slots, here // each, out=slots)  # -1 in a zone that does not list the resource
        else:
            slots[here < threshold[row]] = 0
    return np.maximum(slots, 0, out=slots)


ADMITTED = -1


@dataclass(frozen=True, slots=True)
class Alignment:
    """The requests of the containers of A tasks in R resources; each task has a shape of its own.

    ``threshold``, ``taken``: int64[U, R, A] by container; the threshold is negative where nothing is requested, also
    for containers that do not exist. ``init``: int64[I, R, A], thresholds of init containers.
    """

    threshold: Int64
    taken: Int64
    init: Int64

    def select(self, tasks: Bool) -> Alignment:
        """Return the requests of only those ``tasks`` (bool[A])."""
        return Alignment(*(each.compress(tasks, axis=2) for each in (self.threshold, self.taken, self.init)))


def admit(left: Int64, alignment: Alignment, limit: Int64) -> tuple[Int64, Int64]:
    """Admit tasks to each of A machines, one after another, up to ``limit`` (int64[A]), and book them.

    ``left``: int64[R, A, Z], what the machines' zones have left, C-contiguous; this function changes it. Return how
    many tasks were admitted, int64[A], and which container of the next task found no zone, int64[A]: init containers
    are numbered after the others, and ``ADMITTED`` means that the limit was reached.
    """
    admitted = np.zeros(left.shape[1], dtype=np.int64)
    failing = np.full(left.shape[1], ADMITTED, dtype=np.int64)
    going: Bool = limit > 0
    live, zones = np.arange(left.shape[1]), left
    while True:
        if not going.all():
            if zones is not left:
                left[:, live[~going]] = zones[:, ~going]
            zones, live, alignment = zones.compress(going, axis=1), live[going], alignment.select(going)
        if not len(live):
            return admitted, failing
        failed = _admit_one(zones, alignment)
        failing[live] = failed
        going = failed == ADMITTED
        admitted[live] += going
        going &= admitted[live] < limit[live]


def _admit_one(zones: Int64, alignment: Alignment) -> Int64:
    """Admit one task to each machine's zones (int64[R, A, Z]) and book it; return which container found no zone:
    int64[A].
    """
    count, width = zones.shape[1:]
    flat = zones.reshape(len(zones), count * width)
    first = np.arange(count) * width
    failed = np.full(count, ADMITTED, dtype=np.int64)
    units = len(alignment.threshold)
    for index, threshold in enumerate(alignment.init):
        _, found = _lowest(zones, threshold, first)
        failed[(failed == ADMITTED) & ~found] = units + index
    booked = []
    for unit, (threshold, taken) in enumerate(zip(alignment.threshold, alignment.taken, strict=True)):
        place, found = _lowest(zones, threshold, first)
        failed[(failed == ADMITTED) & ~found] = unit
        through = failed == ADMITTED
        amounts = taken * through
        booked.append((place, amounts))
        for row in np.flatnonzero(amounts.any(axis=1)).tolist():
            flat[row, place] -= amounts[row]
    refused = np.flatnonzero(failed != ADMITTED)
    for place, amounts in booked:
        for row in np.flatnonzero(amounts[:, refused].any(axis=1)).tolist():
            flat[row, place[refused]] += amounts[row, refused]
    return failed


def _lowest(zones: Int64, threshold: Int64, first: Int64) -> tuple[Int64, Bool]:
    """Return each machine's lowest zone with at least ``threshold`` (int64[R, A]), and whether one exists: bool[A].

    Zone numbers run over all machines; ``first``: int64[A], the number of each machine's first zone.
    """
    fits = np.ones(zones.shape[1:], dtype=np.bool_)
    for row in np.flatnonzero((threshold >= 0).any(axis=1)).tolist():
        fits &= zones[row] >= threshold[row][:, None]
    place = first + fits.argmax(axis=1)
    return place, fits.ravel()[place]
