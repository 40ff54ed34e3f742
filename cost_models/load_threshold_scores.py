"""Scores of machines by their use, 0 to 100, each as its upstream plugin defines it, and how they fall per task.

* ``LeastUsed`` (Koordinator): per resource (allocatable - use) * 100 div allocatable, 0 if there is more use than
  that; the mean by weight, the worst resource with a weight of its own.
* ``MostUsed``: the same with use in place of what is left: pack below the thresholds.
* ``TargetLoadPacking`` (Trimaran), of cpu alone: with U the percentage of use and T the target,
  (100 - T) U / T + T up to T, T (100 - U) / (100 - T) above.
* ``LoadVariationRiskBalancing`` (Trimaran): (1 - (mean + deviation) / 2) * 100 of the worse of cpu and memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Float64, Int64
from cost_models.load_threshold_arguments import Percentages
from cost_models.load_threshold_strategy import Strategy

EXACT = 2**45
"""Below this, a quotient of 100 x amount and amount is never rounded up to a whole number in floating point."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights by resource, int64[R], and that of the worst resource."""

    resources: Int64
    worst: int

    @classmethod
    def of(cls, weights: Percentages, worst: int, known: Sequence[str]) -> Weights:
        """Weights in the order of ``known``."""
        return cls(np.array([weights.get(name, 0) for name in known], dtype=np.int64), worst)

    @property
    def total(self) -> int:
        """Sum of all weights."""
        return int(self.resources.sum()) + self.worst


class UsedScores:
    """``LeastUsed`` or ``MostUsed`` of machines; ``use``, ``allocatable``: int64[R, M].

    Scores are whole numbers of few digits: they are summed in 16 bits where weights allow.
    """

    def __init__(self, use: Int64, allocatable: Int64, weights: Weights, *, most: bool) -> None:
        self._weights = weights
        self._most = most
        self._counted = [
            position for position, weight in enumerate(weights.resources.tolist()) if weight or weights.worst
        ]
        self._sums = np.int16 if 100 * weights.total < np.iinfo(np.int16).max else np.int64
        largest = max(int(allocatable.max(initial=0)), int(use.max(initial=0)))
        self._type = np.float64 if largest < EXACT else np.int64
        offered = np.maximum(allocatable, 1)
        # Where nothing is offered, any use is too much.
        left = np.where(allocatable > 0, allocatable - use, -1)
        self._offered = offered.astype(self._type)
        self._left = (left * 100).astype(self._type)
        self._singles: dict[tuple[int, int], NDArray[np.int16]] = {}

    def of(self, amounts: Int64) -> NDArray[Any]:
        """Scores for a task of ``amounts`` (int64[R]): int[M], 0 to 100."""
        score: NDArray[Any] = np.zeros(self._left.shape[1], dtype=self._sums)
        if not self._counted:
            return score
        singles = [self._scored(position, int(amounts[position])) for position in self._counted]
        for position, single in zip(self._counted, singles, strict=True):
            weight = int(self._weights.resources[position])
            score += single if weight == 1 else single * self._sums(weight)
        if self._weights.worst:
            score += np.minimum.reduce(singles) * self._sums(self._weights.worst)
        score //= self._sums(self._weights.total)
        return score

    def _scored(self, position: int, amount: int) -> NDArray[np.int16]:
        """Score of one resource, not to be written to; tasks of different shapes often ask for as much."""
        if (position, amount) not in self._singles:
            # Kept short: there may be as many as there are shapes.
            self._singles[position, amount] = self._single(position, amount * 100).astype(np.int16)
        return self._singles[position, amount]

    def _single(self, position: int, amount: int) -> NDArray[Any]:
        """Score of one resource, its fraction included in floating point; ``amount`` in hundredths."""
        offered = self._offered[position]
        part = self._left[position] - amount
        if self._most:
            part = np.where(part < 0, 0, 100 * offered - part)
        else:
            np.maximum(part, 0, out=part)
        return part // offered if self._type is np.int64 else np.divide(part, offered, out=part)


def used_growth(amounts: Float64, allocatable: Int64, weights: Weights) -> Float64:
    """By how much ``LeastUsed`` falls per task of ``amounts`` (float64[R]): float64[M]; allocatable int64[R, M]."""
    machines = allocatable.shape[1]
    if weights.total == 0:
        return np.zeros(machines)
    share = 100.0 * amounts[:, None] / np.maximum(allocatable, 1)
    share = np.where(allocatable > 0, np.minimum(share, 100.0), 0.0)
    growth: Float64 = (
        weights.resources @ share + weights.worst * share.max(axis=0, initial=0.0)
    ) / weights.total
    return growth


def used_rates(allocatable: Int64, weights: Weights) -> Float64:
    """By how much ``LeastUsed`` falls per unit of each resource, the worst one apart: float64[R, M]."""
    rate = 100.0 * weights.resources[:, None] / (np.maximum(allocatable, 1) * max(1, weights.total))
    return np.where(allocatable > 0, rate, 0.0)


def used_percent(use: Int64, allocatable: Int64) -> Float64:
    """Percentages of use, at most 100, which is also what stands for nothing to use: float64[R, M]."""
    percent = np.minimum(100.0 * use / np.maximum(allocatable, 1), 100.0)
    return np.where(allocatable > 0, percent, 100.0)


def packing_score(percent: Float64, target: float) -> Float64:
    """``TargetLoadPacking`` for a percentage of use after the placement: whole numbers, 0 above 100 percent."""
    score = np.where(
        percent > target,
        target * (100.0 - percent) / (100.0 - target),
        (100.0 - target) * percent / target + target,
    )
    return np.where(percent > 100.0, 0.0, np.floor(score + 0.5))


def variation_score(
    use: Float64, deviation: Float64, request: float, capacity: Float64, strategy: Strategy
) -> Float64:
    """``LoadVariationRiskBalancing`` of one resource, not rounded yet: float64[M], 0 without capacity."""
    offered = np.maximum(capacity, 1e-9)
    mean = np.clip((np.clip(use, 0, capacity) + max(request, 0.0)) / offered, 0.0, 1.0)
    spread = np.clip(np.clip(deviation, 0, capacity) / offered, 0.0, 1.0)
    if strategy.sensitivity > 0:
        spread = spread ** (1.0 / strategy.sensitivity)
    elif strategy.sensitivity == 0:
        spread = np.floor(spread)  # to an infinite power
    spread = np.clip(spread * strategy.margin, 0.0, 1.0)
    return np.where(capacity > 0, (1.0 - (mean + spread) / 2.0) * 100.0, 0.0)
