"""Says what it costs to leave tasks waiting, by priority and by how long they have waited."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.flow.problem import WAIT_BUCKETS
from firmament.core.flow.residual import Residual

WAIT_LIMITS = (1.0, 10.0, 60.0)
"""Seconds of waiting at which a task moves on to the next wait bucket."""


def compute_unscheduled_penalties(residual: Residual, dearest: int) -> Int64:
    """Return what leaving a task unscheduled costs, more than any gain: int64[C, WAIT_BUCKETS]; longest wait first.

    Placing one more task may push other tasks to other machines, at most one task per class or machine. A penalty is
    therefore the dearest placement (``dearest``: units) times the longest chain of such moves, so the flow leaves no
    task waiting that has a place. Among tasks that compete for a place, each wait bucket counts more than any
    difference in cost, and each rank of priority counts more than any difference in wait.
    """
    problem = residual.problem
    longest_chain = min(problem.classes, problem.machines) + 1
    step = dearest + 1
    wait = step * np.arange(WAIT_BUCKETS - 1, -1, -1, dtype=np.int64)
    penalties: Int64 = step * longest_chain + step * WAIT_BUCKETS * problem.priority[:, None] + wait[None, :]
    return penalties


def count_by_wait(first: Int64, waited: Float64) -> Int64:
    """Return how many tasks of each group have waited how long: int64[C, WAIT_BUCKETS].

    ``waited``: float64[N], seconds that each task has waited, group by group. ``first``: the index of each group's
    first task.
    """
    group = np.repeat(np.arange(len(first)), np.diff(first, append=len(waited)))
    bucket = WAIT_BUCKETS - 1 - np.searchsorted(WAIT_LIMITS, waited, side="right")
    counts = np.bincount(group * WAIT_BUCKETS + bucket, minlength=len(first) * WAIT_BUCKETS)
    return counts.reshape(len(first), WAIT_BUCKETS).astype(np.int64)
