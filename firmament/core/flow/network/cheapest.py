"""The cheapest machines of each class, side by side where many cost the same."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.price_estimate.equilibrium import UNWANTED
from firmament.solvers.base import Int32


def cheapest(key: Int32, want: Int64, begin: Int64, looked_at: int) -> tuple[Int64, Int64]:
    """About ``want`` machines of each row with the least key: rows and columns of the pairs, in order.

    Of those that tie at the end, the ones from column ``begin`` on. ``key``: int32[C', M'], ``UNWANTED`` where a
    machine is of no use; ``want``, ``begin``: int64[C'].
    """
    width = key.shape[1]
    seen, spare = key, want // 4 + 1
    if width >= 2 * looked_at:
        # A fixed draw, as machines of one kind may come at even intervals.
        some = np.random.default_rng(width).permutation(width)[:looked_at]
        seen, spare = key.take(np.sort(some), axis=1), want // 2 + 8
    limit = _nth_smallest(seen, want * seen.shape[1] // max(1, width))
    hit = np.flatnonzero(key <= np.minimum(limit, UNWANTED - 1)[:, None])
    count = np.diff(np.searchsorted(hit, np.arange(len(key) + 1) * width))
    row = np.repeat(np.arange(len(key)), count)
    place = hit - row * width
    many = (limit < UNWANTED) & (count > want + spare)
    kept = _in_turn(row, place, many[row] & (key.ravel().take(hit) == limit.take(row)), want, begin)
    return row[kept], place[kept]


def _nth_smallest(key: Int32, nth: Int64) -> Int32:
    """int32[C']: of each row the ``nth`` smallest from 0, the largest if there are fewer, ``UNWANTED`` if none."""
    if key.size == 0:
        return np.full(len(key), UNWANTED, dtype=np.int32)
    nth = np.minimum(nth, key.shape[1] - 1)
    last = int(nth.max())
    least = np.partition(key, last, axis=1)[:, : last + 1]
    least.sort(axis=1)
    return least[np.arange(len(key)), nth]


def _in_turn(row: Int64, place: Int64, at_limit: Bool, want: Int64, begin: Int64) -> Bool:
    """bool[P]: the pairs of ``row`` and ``place``, in order, of which ``want`` are left per row where possible.

    Only pairs ``at_limit`` are left out; those from ``begin`` on stay first, and after them those from the left end on.
    """
    kept = np.ones(len(row), dtype=np.bool_)
    some = np.flatnonzero(at_limit)
    tied = row[some]
    number = np.bincount(tied, minlength=len(want))
    turn = np.arange(len(some)) - (np.cumsum(number) - number)[tied]
    turn -= np.bincount(tied[place[some] < begin[tied]], minlength=len(want))[tied]
    turn += np.where(turn < 0, number[tied], 0)
    below = np.bincount(row, minlength=len(want)) - number
    kept[some[turn >= (want - below)[tied]]] = False
    return kept
