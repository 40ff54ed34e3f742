"""How many tasks of each group each domain should have."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Float64, Int64

PREFERENCE = 1e-3
"""Part of a step by which a domain is preferred that would lose a task else."""


def even_shares(height: Float64, present: Int64) -> Int64:
    """Shares of the tasks of each group (``present``: int64[G, D], where they are now) that level the domains.

    ``height``: float64[G, D], what the first task of a group in a domain costs, in steps; each further task costs one
    more. The sums of rows stay; among equally good shares those that are nearest to what is present.
    """
    if present.shape[1] == 1:
        return present.copy()
    tasks = present.sum(axis=1)
    shares = np.maximum(np.floor(_level(height, tasks)[:, None] - height), 0.0).astype(np.int64)
    left = tasks - shares.sum(axis=1)
    following = height + shares - PREFERENCE * (present > shares)
    rank = np.argsort(np.argsort(following, axis=1, kind="stable"), axis=1)
    return shares + (rank < left[:, None])


def _level(height: Float64, tasks: Int64) -> Float64:
    """float64[G]: up to where water rises if ``tasks`` (int64[G]) units of it are poured on columns of ``height``.

    With the k lowest columns under water it stands at the mean of their heights and the tasks; the right k is the one
    for which it stands lowest, as a column above the water raises that mean.
    """
    lowest = np.sort(height, axis=1)
    levels = (np.cumsum(lowest, axis=1) + tasks[:, None]) / np.arange(1, height.shape[1] + 1)
    return np.asarray(levels.min(axis=1), dtype=np.float64)
