"""How many tasks of each group each domain should have."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Float64, Int64

HALVINGS = 48
"""Steps of the search for a level; differences of costs in units of a domain's step are found to a millionth."""

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
    low, high = height.min(axis=1) - 1.0, height.max(axis=1) + tasks + 1.0
    for _ in range(HALVINGS):
        level = (low + high) / 2
        enough = _below(height, level).sum(axis=1) > tasks
        high = np.where(enough, level, high)
        low = np.where(enough, low, level)
    shares = _below(height, low)
    left = tasks - shares.sum(axis=1)
    following = height + shares - PREFERENCE * (present > shares)
    rank = np.argsort(np.argsort(following, axis=1, kind="stable"), axis=1)
    return shares + (rank < left[:, None])


def _below(height: Float64, level: Float64) -> Int64:
    """int64[G, D]: how many tasks of a domain cost at most ``level`` (float64[G])."""
    return np.maximum(np.floor(level[:, None] - height) + 1.0, 0.0).astype(np.int64)
