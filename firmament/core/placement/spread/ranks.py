"""Orders and ranks of rows by whole numbers, the same as a stable sort finds, in a fraction of its time.

Numpy sorts 16-bit numbers by their digits. Its stable sort of longer ones is several times slower than its unstable
one, which finds the one order that there is if no two keys are equal: so the row is made part of the key.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64

SHORT = 2**16
"""Keys that span less than this are sorted by their digits."""


def order_by(keys: Int64) -> Int64:
    """int64[N]: rows by ascending key, those of equal keys in their order; the span of keys times N fits 64 bits."""
    if not len(keys):
        return np.empty(0, dtype=np.int64)
    least = keys.min()
    if keys.max() - least < SHORT:
        return np.argsort((keys - least).astype(np.uint16), kind="stable")
    return np.argsort((keys - least) * len(keys) + np.arange(len(keys)))


def runs(ordered: Int64) -> tuple[Int64, Int64]:
    """Where each run of equal keys begins in ``ordered`` keys, and how long it is; int64[E] each."""
    borders = np.ones(len(ordered) + 1, dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=borders[1:-1])
    found = np.flatnonzero(borders) if len(ordered) else np.zeros(1, dtype=np.int64)
    return found[:-1], found[1:] - found[:-1]


def rank(keys: Int64) -> Int64:
    """int64[N]: how many equal keys come before each."""
    order = order_by(keys)
    starts, lengths = runs(keys[order])
    found = np.empty(len(keys), dtype=np.int64)
    found[order] = np.arange(len(keys)) - np.repeat(starts, lengths)
    return found


def distinct(keys: Int64) -> tuple[Int64, Int64]:
    """The distinct keys, ascending, and how often each occurs; int64[E] each."""
    ordered = np.sort(keys)
    starts, lengths = runs(ordered)
    return ordered[starts], lengths
