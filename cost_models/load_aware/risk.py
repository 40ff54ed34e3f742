"""Room for what pods use beyond what is expected of them, so that a threshold is exceeded seldom, not every other time.

Expected use is a mean: a machine that is filled up to its threshold by expectation is above it half of the time. With
V the variance of what the tasks of a machine use, and z the normal quantile of the tolerance, the sum of means may grow
up to

    limit - z sqrt(V)

Tasks deviate independently of each other, so V is a sum over tasks, of (deviation x expected use) squared; twice that
for a task taken at its last figure, which was one draw where the present is another.

The root is not linear in the tasks, which joint rows have to be. It is concave, so its tangent at any deviation s is
never below it: sqrt(V) <= s / 2 + V / (2 s). Each machine keeps z (s / 2 + V / (2 s)) for the tasks that are there, and
each further task of variance v counts for z v / (2 s) more than what is expected of it. That keeps the bound for any
mix of tasks and any s; it is tight on machines whose deviation is s when full, for which the median is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from cost_models.arguments import Arguments
from cost_models.interface import Float64, Int64

FIGURE_DRAWS = 2.0
"""Variances by which the use of a task differs from its last figure."""


@dataclass(frozen=True, slots=True)
class Risk:
    """``deviation``: by resource, the standard deviation of a task's use as a part of what is expected of it; empty:
    means are taken for the truth. ``tolerance``: how likely a machine at its limit may be above the threshold.
    """

    deviation: Mapping[str, float]
    tolerance: float = 0.01

    @property
    def quantile(self) -> float:
        """z: by how many deviations the limit lies above the mean."""
        return NormalDist().inv_cdf(1.0 - self.tolerance)


def read_risk(read: Arguments) -> Risk:
    """Check ``usageRisk``: ``deviation`` in percent by resource, ``tolerance`` in percent. Raises
    ``ModelArgumentError``."""
    deviation = read.mapping("deviation")
    for resource, value in deviation.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not resource or not number or not 0 <= value <= 100:
            raise read.error(f"deviation.{resource}", value, "a number from 0 to 100")
    tolerance = read.number("tolerance", 1, least=0.001, most=50)
    read.finish()
    return Risk({name: value / 100 for name, value in deviation.items() if value}, tolerance / 100)


@dataclass(frozen=True, slots=True)
class Margins:
    """What thresholds keep free. float64[R] each: ``base`` and ``per_variance``, of a machine;
    ``per_square``, of a task, by its expected use squared. All 0 where deviations do not count.
    """

    base: Float64
    per_variance: Float64
    per_square: Float64

    def kept(self, variance: Float64) -> Int64:
        """For the tasks on machines, ``variance`` float64[R, M] being theirs: int64[R, M]."""
        return np.ceil(self.base[:, None] + self.per_variance[:, None] * variance).astype(np.int64)

    def charged(self, amounts: Int64) -> Int64:
        """What tasks take of the room, their part of the margin included: int64[S, R] like ``amounts``."""
        if not self.per_square.any():
            return amounts
        return amounts + np.ceil(amounts.astype(np.float64) ** 2 * self.per_square).astype(np.int64)


def margins(risk: Risk, known: Sequence[str], typical: Float64) -> Margins:
    """Margins in the resources ``known``, with the tangent at the deviations ``typical``: float64[R], 0 for none."""
    z = risk.quantile
    deviation = np.array([risk.deviation.get(name, 0.0) for name in known])
    slope = np.divide(z, 2.0 * typical, out=np.zeros_like(typical), where=typical > 0)
    return Margins(base=z * typical / 2.0 * (slope > 0), per_variance=slope, per_square=slope * deviation**2)


def full_deviation(variance: Float64, left: Int64, amounts: Int64, counts: Int64, risk: float) -> float:
    """Median deviation of machines once ``left`` of them (int64[N]) is taken by the waiting tasks, in one resource.

    ``variance``: float64[N], of the tasks there; ``amounts``, ``counts``: int64[S], expected use of the waiting ones;
    ``risk``: their relative deviation. Machines on which nothing deviates do not count; 0 if there are no others.
    """
    expected = amounts.astype(np.float64)
    total = float(counts @ expected)
    # Tasks of which nothing is expected add nothing, but may still not go where there is too much already.
    per_amount = risk**2 * float(counts @ expected**2) / total if total > 0 else 0.0
    deviation = np.sqrt(variance + np.maximum(left, 0) * per_amount)
    deviation = deviation[deviation > 0]
    return float(np.median(deviation)) if len(deviation) else 0.0
