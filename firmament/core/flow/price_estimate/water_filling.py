"""Fills machines to a common level of cost, as water fills the ground."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Float64, Int64


def water_level_load(mean: Float64, slope: Float64, room: Int64, tasks: int, bisections: int) -> Int64:
    """Tasks per machine, int64[M], about ``tasks`` in all, if the k-th task of m costs ``mean[m] + slope[m] * k``.

    ``slope`` is positive; no machine takes more than its ``room``, 0 where it cannot be used at all. Where there is not
    room for more than ``tasks``, all of it is taken.
    """
    if tasks >= int(room.sum()):
        return room
    open_ = room > 0
    low = float(mean[open_].min())
    high = float((mean + slope * room)[open_].max()) + 1.0
    for _ in range(bisections):
        level = (low + high) / 2
        if int(_below(level, mean, slope, room).sum()) < tasks:
            low = level
        else:
            high = level
    return _below(high, mean, slope, room)


def _below(level: float, mean: Float64, slope: Float64, room: Int64) -> Int64:
    """Tasks per machine whose cost is at most ``level``."""
    load: Int64 = np.clip(np.floor((level - mean) / slope) + 1, 0, room).astype(np.int64)
    return load
