"""Scores machines by their use, 0 to 100, as the upstream plugins do, and says by how much each task lowers a score.

* ``LeastUsed`` (Koordinator): per resource (allocatable - use) * 100 div allocatable, at least 0; of these the weighted
  mean, in which the worst resource counts once more with a weight of its own.
* ``MostUsed``: as ``LeastUsed``, with use * 100 div allocatable: fills machines up to the thresholds.
* ``TargetLoadPacking`` (Trimaran), of cpu alone: with U the percentage of use and T the target, (100 - T) U / T + T up
  to T, T (100 - U) / (100 - T) above.
* ``LoadVariationRiskBalancing`` (Trimaran): (1 - (mean + deviation) / 2) * 100 of the worse of cpu and memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.api.arrays import Int8
from cost_models.interface import Float64, Int64
from cost_models.load_aware.arguments import Settings, Strategy

EXACT = 2**45
"""Below this amount, floating point never rounds a quotient 100 x amount / amount up to a whole number."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each resource in the score, int64[R], and the additional weight of the fullest resource."""

    resources: Int64
    worst: int

    @classmethod
    def from_settings(cls, settings: Settings) -> Weights:
        """Return the weights of the resources that count, in their order."""
        weights = [settings.weights.get(name, 0) for name in settings.known]
        return cls(np.array(weights, dtype=np.int64), settings.dominant_weight)

    @property
    def total(self) -> int:
        """Sum of all weights."""
        return int(self.resources.sum()) + self.worst


class UsedScores:
    """Computes ``LeastUsed`` or ``MostUsed`` scores of machines; ``use``, ``allocatable``: int64[R, M].

    Scores are kept in 8 bits, as the scores of many shapes exceed any cache, and added in as few bits as the weights
    allow.
    """

    def __init__(self, use: Int64, allocatable: Int64, weights: Weights, *, most: bool) -> None:
        self._most = most
        self._counted = [
            (position, weight)
            for position, weight in enumerate(weights.resources.tolist())
            if weight or weights.worst
        ]
        self._sums = np.min_scalar_type(100 * max(weights.total, 1)).type
        self._worst, self._total = weights.worst, self._sums(weights.total)
        largest = max(int(allocatable.max(initial=0)), int(use.max(initial=0)))
        self._type = np.float64 if largest < EXACT else np.int64
        offered = np.maximum(allocatable, 1)
        # A machine without the resource counts as full.
        left = allocatable - use
        left[allocatable <= 0] = -1
        self._offered = offered.astype(self._type)
        self._left = (left * 100).astype(self._type)
        self._least = self._left.min(axis=1, initial=np.iinfo(np.int64).max).tolist()
        # An array of zeros, because numpy takes twice as long to compare with a single number.
        self._nothing = np.zeros(left.shape[1], dtype=self._type)

    def compute(self, amounts: Int64) -> Int8:
        """Return scores for tasks of ``amounts`` (int64[N, R]): int8[N, M], 0 to 100."""
        machines = self._left.shape[1]
        if not self._counted:
            return np.zeros((len(amounts), machines), dtype=np.int8)
        singles = [self._singles(position, amounts[:, position].tolist()) for position, _ in self._counted]
        columns = [
            self._apply_weight(column, weight)
            for column, (_, weight) in zip(singles, self._counted, strict=True)
        ]
        if self._worst:
            worst = (np.minimum.reduce(parts) for parts in zip(*singles, strict=True))
            columns.append(self._apply_weight(worst, self._worst))
        sums = np.empty((len(amounts), machines), dtype=self._sums)
        for row, first, *others in zip(sums, *columns, strict=True):
            row[:] = first
            for other in others:
                np.add(row, other, out=row)
        np.floor_divide(sums, self._total, out=sums)
        return sums.view(np.int8) if sums.itemsize == 1 else sums.astype(np.int8)

    def _apply_weight(self, scores: Iterable[NDArray[np.uint8]], weight: int) -> Iterable[NDArray[Any]]:
        """Return the scores times a weight, in the type of the sums unless the weight is 1."""
        return scores if weight == 1 else (np.multiply(each, weight, dtype=self._sums) for each in scores)

    def _singles(self, position: int, amounts: Sequence[int]) -> list[NDArray[np.uint8]]:
        """Return the scores of one resource; compute the scores of equal amounts only once."""
        single = {amount: self._single(position, amount) for amount in set(amounts)}
        return [single[amount] for amount in amounts]

    def _single(self, position: int, amount: int) -> NDArray[np.uint8]:
        """Return the scores of one resource for one amount."""
        offered = self._offered[position]
        part = self._left[position] - amount * 100
        if self._most:
            part = np.where(part < 0, 0, 100 * offered - part)
        elif amount * 100 > self._least[position]:
            np.maximum(part, self._nothing, out=part)
        score = part // offered if self._type is np.int64 else np.divide(part, offered, out=part)
        return score.astype(np.uint8)


def percent_per_unit(allocatable: Int64) -> Float64:
    """Return what percentage of ``allocatable`` (float64[R, M]) one unit is, 0 where nothing is offered:
    float64[R, M].
    """
    percent = 100.0 / np.maximum(allocatable, 1)
    percent[allocatable <= 0] = 0.0
    return percent


def compute_used_growth(amounts: Float64, per_unit: Float64, weights: Weights) -> Float64:
    """Return by how much ``LeastUsed`` falls per task of ``amounts`` (float64[R]): float64[M]. ``per_unit``: see
    ``percent_per_unit``.
    """
    if weights.total == 0:
        return np.zeros(per_unit.shape[1])
    share = np.minimum(amounts[:, None] * per_unit, 100.0)
    growth: Float64 = weights.resources.astype(np.float64) @ share
    if weights.worst:
        growth += weights.worst * share.max(axis=0, initial=0.0)
    return growth / weights.total


def packing_score(percent: Float64, target: float) -> Float64:
    """Return ``TargetLoadPacking`` for a percentage of use after placement, in whole numbers; 0 above 100 percent."""
    score = np.where(
        percent > target,
        target * (100.0 - percent) / (100.0 - target),
        (100.0 - target) * percent / target + target,
    )
    return np.where(percent > 100.0, 0.0, np.floor(score + 0.5))


def variation_score(
    use: Float64, deviation: Float64, request: float, capacity: Float64, strategy: Strategy
) -> Float64:
    """Return ``LoadVariationRiskBalancing`` of one resource, unrounded: float64[M], 0 without capacity."""
    offered = np.maximum(capacity, 1e-9)
    mean = np.clip((np.clip(use, 0, capacity) + max(request, 0.0)) / offered, 0.0, 1.0)
    spread = np.clip(np.clip(deviation, 0, capacity) / offered, 0.0, 1.0)
    if strategy.sensitivity > 0:
        spread = spread ** (1.0 / strategy.sensitivity)
    elif strategy.sensitivity == 0:
        spread = np.floor(spread)  # to the power of infinity
    spread = np.clip(spread * strategy.margin, 0.0, 1.0)
    return np.where(capacity > 0, (1.0 - (mean + spread) / 2.0) * 100.0, 0.0)
