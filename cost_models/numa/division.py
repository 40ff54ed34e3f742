"""How many tasks that are aligned as one unit single zones take, by division.

What is left in zones is int64[R, M, Z]: R resources, M machines with up to Z zones each. A unit asks for ``threshold``
(int64[R], negative: it does not ask for the resource) to be left in a zone, and takes ``taken`` (int64[R]) of it.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64

UNLIMITED = np.int64(2**60)
"""Room of a machine that aligns nothing, and of a resource that no zone has."""

UNLISTED = -1
"""What is left, in a zone that does not list a resource, or is not there at all."""


def slots_at(left: Int64, machines: Int64, threshold: Int64, taken: Int64) -> Int64:
    """How many units each zone of ``machines[i]`` takes: int64[A, Z]; ``threshold``, ``taken``: int64[A, R]."""
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
    """How many of one unit each zone takes: int64[M, Z]; ``threshold``, ``taken``: int64[R]."""
    slots = np.full(left.shape[1:], UNLIMITED // left.shape[2])
    for row in np.flatnonzero(threshold >= 0).tolist():
        here, each = left[row], int(taken[row])
        if each > 0:
            np.minimum(slots, here // each, out=slots)  # -1 where it is not listed
        else:
            slots[here < threshold[row]] = 0
    return np.maximum(slots, 0, out=slots)
