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

import numpy as np

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


def used_score(use: Int64, amounts: Int64, allocatable: Int64, weights: Weights, *, most: bool) -> Float64:
    """``LeastUsed`` or ``MostUsed`` of one shape: float64[M] of whole numbers.

    ``use``, ``allocatable``: int64[R, M]; ``amounts``: int64[R], of the task itself.
    """
    machines = use.shape[1]
    score = np.zeros(machines)
    if weights.total == 0:
        return score
    worst = np.full(machines, 100.0)
    for position, weight in enumerate(weights.resources.tolist()):
        if weight == 0 and weights.worst == 0:
            continue
        offered = allocatable[position]
        total = use[position] + amounts[position]
        part = total if most else offered - total
        possible = (offered > 0) & (total <= offered)
        single = _hundredths(np.where(possible, part, 0), np.where(possible, offered, 1))
        score += weight * single
        if weights.worst:
            np.minimum(worst, single, out=worst)
    if weights.worst:
        score += weights.worst * worst
    return np.floor(score / weights.total)


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


def _hundredths(part: Int64, whole: Int64) -> Float64:
    """``part`` * 100 div ``whole``, exactly."""
    if int(whole.max(initial=1)) < EXACT:
        return np.floor(part * 100.0 / whole)
    return (part * 100 // whole).astype(np.float64)
