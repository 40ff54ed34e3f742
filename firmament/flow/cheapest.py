"""The cheapest machines of each class, side by side where many cost the same."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.flow.equilibrium import UNWANTED
from firmament.solvers.base import Int32

LOOKED_AT = 512
"""Machines from which it is estimated up to which key the cheapest ones reach, if there are twice as many or more."""


def cheapest(key: Int32, want: Int64, begin: Int64) -> Bool:
    """bool[C', M']: about ``want`` machines of each row with the least key.

    Of those that tie at the end, the ones from column ``begin`` on. ``key``: int32[C', M'], ``UNWANTED`` where a
    machine is of no use; ``want``, ``begin``: int64[C'].
    """
    width = key.shape[1]
    seen, spare = key, want // 4 + 1
    if width >= 2 * LOOKED_AT:
        # A fixed draw, as machines of one kind may come at even intervals.
        some = np.random.default_rng(width).permutation(width)[:LOOKED_AT]
        seen, spare = key.take(np.sort(some), axis=1), want // 2 + 8
    limit = _nth_smallest(seen, want * seen.shape[1] // max(1, width))
    chosen: Bool = key <= np.minimum(limit, UNWANTED - 1)[:, None]
    count = np.count_nonzero(chosen, axis=1)
    tied = np.flatnonzero((limit < UNWANTED) & (count > want + spare))
    if len(tied):
        chosen[tied] = _in_turn(key[tied], limit[tied], want[tied], begin[tied])
    return chosen


def _nth_smallest(key: Int32, nth: Int64) -> Int32:
    """int32[C']: of each row the ``nth`` smallest from 0, the largest if there are fewer, ``UNWANTED`` if none."""
    if key.size == 0:
        return np.full(len(key), UNWANTED, dtype=np.int32)
    nth = np.minimum(nth, key.shape[1] - 1)
    last = int(nth.max())
    least = np.partition(key, last, axis=1)[:, : last + 1]
    least.sort(axis=1)
    return least[np.arange(len(key)), nth]


def _in_turn(key: Int32, limit: Int32, want: Int64, begin: Int64) -> Bool:
    """bool[C', M']: ``want`` machines of each row with a key up to ``limit``, those at it from column ``begin`` on."""
    below, at_limit = key < limit[:, None], key == limit[:, None]
    nth = np.cumsum(at_limit, axis=1, dtype=np.int32)
    number = nth[:, -1]
    # Columns at the limit are numbered from 0 at ``begin``, and on from the left end.
    before = np.where(begin > 0, nth[np.arange(len(key)), np.maximum(begin - 1, 0)], 0)
    turn = nth - (before + 1)[:, None]
    turn += np.where(turn < 0, number[:, None], 0).astype(np.int32)
    chosen: Bool = below | (at_limit & (turn < (want - below.sum(axis=1))[:, None]))
    return chosen
