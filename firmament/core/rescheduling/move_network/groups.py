"""Machines that cost every row of tasks the same: to tasks they differ in nothing but how crowded they are."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.solvers.base import Int32

_ROWS_AT_ONCE = 64


def alike(cost: Int32) -> tuple[Int64, Int64]:
    """Group the machines (columns) of a matrix of costs, int32[R, M], by equal columns.

    Returns int64[M], the group of each machine, numbered in order of first members; and int64[G], those members.
    """
    rows, machines = cost.shape
    weights = np.random.default_rng(0).integers(1, 2**62, size=(rows,), dtype=np.int64)
    digest = np.zeros(machines, dtype=np.int64)
    for begin in range(0, rows, _ROWS_AT_ONCE):  # sums wrap around, which a digest may
        block = slice(begin, begin + _ROWS_AT_ONCE)
        digest += weights[block] @ cost[block].astype(np.int64)
    _, first, group = np.unique(digest, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    group, first = place[group], first[order]
    if not all((cost[row] == cost[row, first][group]).all() for row in range(rows)):
        return np.arange(machines), np.arange(machines)  # two digests met
    return group, first
