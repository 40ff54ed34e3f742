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

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Float64, Int64
from cost_models.load_aware.arguments import Risk, Settings
from cost_models.load_aware.joint_rows import Room, Rooms
from cost_models.load_aware.machine_use import Use
from cost_models.load_aware.thresholds import NO_LIMIT


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


def with_margins(space: Rooms, use: Use, amounts: Int64, counts: Int64) -> tuple[Rooms, Int64]:
    """The room that is left beside margins, and what a task of each shape takes of it: int64[S, R].

    ``amounts``: int64[S, R], expected use of the waiting tasks, of which ``counts`` (int64[S]) wait. Without a
    configured deviation both are returned as they are.
    """
    settings, spread = use.settings, use.spread
    if not settings.risk.deviation:
        return space, amounts
    whole = np.where(space.whole.estimated[:, None], spread.estimated, spread.reported).T
    prod = np.where(space.prod.estimated[:, None], spread.prod_estimated, spread.prod).T
    prod = np.where(space.separate, prod, whole)
    typical = _typical(space, (whole, prod), amounts, counts, settings)
    kept = margins(settings.risk, settings.known, typical)
    reduced = replace(space, whole=_reduced(space.whole, whole, kept), prod=_reduced(space.prod, prod, kept))
    return reduced, kept.charged(amounts)


def _typical(
    space: Rooms, variances: tuple[Float64, Float64], amounts: Int64, counts: Int64, settings: Settings
) -> Float64:
    """The deviation of a full machine, of those that have a threshold: float64[R], 0 where deviations do not count."""
    typical = np.zeros(len(settings.known))
    for position, name in enumerate(settings.known):
        deviation = settings.risk.deviation.get(name, 0.0)
        if not deviation:
            continue
        left = np.concatenate([space.whole.left[position], space.prod.left[position][space.separate]])
        variance = np.concatenate([variances[0][position], variances[1][position][space.separate]])
        limited = left < NO_LIMIT // 2
        typical[position] = full_deviation(
            variance[limited], left[limited], amounts[:, position], counts, deviation
        )
    return typical


def _reduced(room: Room, variance: Float64, kept: Margins) -> Room:
    """``room`` without what is kept free; ``variance``: float64[R, M]."""
    limited = room.left < NO_LIMIT // 2
    return replace(room, left=np.where(limited, room.left - kept.kept(variance), room.left))
