"""Fills machines: the more of a machine is requested, the better.

Source: ``most_allocated.go`` of kube-scheduler's plugin noderesources. A resource scores ``requested x 100 /
allocatable`` in whole numbers, at most 100; the machine's score is their weighted mean, rounded down.

Costs do not grow as a round fills a machine (crowding is 0): the flow sends as many tasks as fit to the fullest
machine, then to the next.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from cost_models.node_resources_fit.strategy import MAX_SCORE, FitStrategy, Scores


class MostAllocated(FitStrategy):
    """Scores a machine by the share of its resources that is requested."""

    name = "most_allocated"

    def score_resource(self, requested: Int64, capacity: Int64) -> Int64:
        """Return the percentage that is requested, rounded down."""
        return np.minimum(requested, capacity) * MAX_SCORE // capacity

    def combine(self, scores: Scores, machines: int) -> Int64:
        """Return the weighted mean of the resources that count, 0 if none does."""
        total, weights = np.zeros(machines, dtype=np.int64), np.zeros(machines, dtype=np.int64)
        for weight, score in scores:
            total += weight * np.maximum(score, 0)
            weights += weight * (score >= 0)
        return total // np.maximum(weights, 1)
