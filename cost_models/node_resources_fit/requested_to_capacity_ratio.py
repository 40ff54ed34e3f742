"""Scores machines by a function of how full they are; the configuration states points of the function.

Source: ``requested_to_capacity_ratio.go`` of kube-scheduler's plugin noderesources, and its function of broken lines.
``shape`` is a list of points, each with a ``utilization`` (percent, ascending) and a ``score`` from 0 to 10; the
function is linear between two points, and constant before the first and after the last. Figures are whole numbers, and
divisions round towards 0. A resource with score 0 does not count in the weighted mean, which is rounded half up.

Where the function falls, each task of a round makes the machine dearer for the next task (crowding), by as much as
the exact, unrounded score falls.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cost_models.arguments import Arguments
from cost_models.interface import Float64, Int64, MachineColumns
from cost_models.node_resources_fit.strategy import MAX_SCORE, FitStrategy, Scores

MOST = 10
"""The highest score of a point, kube-scheduler's MaxCustomPriorityScore."""

_FILLING = ({"utilization": 0, "score": 0}, {"utilization": 100, "score": MOST})


class RequestedToCapacityRatio(FitStrategy):
    """Scores a machine by a function of the requested share of its resources; the default function fills machines."""

    name = "requested_to_capacity_ratio"

    @property
    def fills(self) -> bool:
        """Whether the function never falls."""
        return bool((np.diff(self._scores) >= 0).all())

    def read_further(self, read: Arguments) -> None:
        """Read the argument ``shape``: the points (utilization, score) of the function."""
        points = [
            _read_point(number, entry) for number, entry in enumerate(read.entries("shape") or _FILLING)
        ]
        self._at = np.array([utilization for utilization, _ in points], dtype=np.int64)
        self._scores = np.array([score for _, score in points], dtype=np.int64) * (MAX_SCORE // MOST)
        if (np.diff(self._at) <= 0).any():
            raise read.error("shape", self._at.tolist(), "points whose utilization ascends")

    def score_resource(self, requested: Int64, capacity: Int64) -> Int64:
        """Return the function's value at the requested percentage, rounded down and at most 100."""
        used = np.minimum(requested, capacity) * 100 // capacity
        after = np.searchsorted(self._at, used)  # the first stated point that is not left of it
        last = len(self._at) - 1
        right, left = np.minimum(after, last), np.maximum(np.minimum(after, last + 1) - 1, 0)
        rise = (self._scores[right] - self._scores[left]) * (used - self._at[left])
        width = np.maximum(self._at[right] - self._at[left], 1)
        between = self._scores[left] + np.sign(rise) * (np.abs(rise) // width)
        return np.where(after == 0, self._scores[0], np.where(after > last, self._scores[last], between))

    def combine(self, scores: Scores, machines: int) -> Int64:
        """Return the weighted mean of the scores above 0, rounded half up; 0 if all scores are 0."""
        total, weights = np.zeros(machines, dtype=np.int64), np.zeros(machines, dtype=np.int64)
        for weight, score in scores:
            total += weight * np.maximum(score, 0)
            weights += weight * (score > 0)
        return (2 * total + weights) // np.maximum(2 * weights, 1)

    def crowding(self, machines: MachineColumns, request: Int64) -> Float64:
        """Return by how much the score falls from the first task with this request to the second, at least 0."""
        fall = self._score_exactly(machines, request, 1) - self._score_exactly(machines, request, 2)
        return np.maximum(fall, 0.0)

    def _score_exactly(self, machines: MachineColumns, request: Int64, tasks: int) -> Float64:
        """Return the unrounded weighted mean of each machine with so many more tasks: float64[M]."""
        total, weights = np.zeros(machines.count), np.zeros(machines.count)
        for resource in self._resources:
            column = machines.column(resource.name)
            if column is None:
                continue
            capacity = machines.capacity[:, column]
            requested = machines.get_requested(column) + tasks * request[column]
            used = np.minimum(100.0 * requested / np.maximum(capacity, 1), 100.0)
            counts = resource.weight * (capacity > 0)
            total += counts * np.interp(used, self._at, self._scores)
            weights += counts
        return total / np.maximum(weights, 1)


def _read_point(number: int, entry: Any) -> tuple[int, int]:
    read = Arguments(f"{RequestedToCapacityRatio.name}: shape[{number}]", entry)
    point = read.whole("utilization", 0, most=100), read.whole("score", 0, most=MOST)
    read.finish()
    return point
