"""Keeps a margin below thresholds, so that machines rarely exceed one although the use of tasks varies.

Expected use is a mean: if a machine's expected use is at the threshold, its actual use is above it half of the time.
Let V be the variance of the use of a machine's tasks, and z the normal quantile of the tolerance. The sum of means
may then grow up to

    limit - z sqrt(V)

Tasks are taken to deviate independently of each other, so V is the sum over tasks of (deviation x expected use)
squared. If a task's expected use is its last figure, its variance is twice as much: both the last figure and the
present use deviate.

Joint rows must be linear in the tasks, and the root is not. The square root is concave, so its tangent at any
deviation s is never below it: sqrt(V) <= s / 2 + V / (2 s). Each machine keeps z (s / 2 + V / (2 s)) free for its
present tasks, and a further task of variance v counts with its expected use plus z v / (2 s). The bound thus holds
for any mix of tasks and any s. The bound is tight on machines whose deviation is s when they are full, so s is the
median of these deviations.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cost_models.interface import Float64, Int64
from cost_models.load_aware.joint_rows import Rooms
from cost_models.load_aware.machine_use import Use
from cost_models.load_aware.task_use import ALL
from cost_models.load_aware.thresholds import NO_LIMIT

FIGURE_DRAWS = 2.0
"""Factor of the variance of a task whose expected use is its last figure."""


def full_deviation(variance: Float64, left: Int64, amounts: Int64, counts: Int64, risk: float) -> float:
    """Return the median deviation, in one resource, of machines once waiting tasks have taken ``left`` (int64[N]).

    ``variance``: float64[N], of the tasks there; ``amounts``: int64[S], expected use of a waiting task; ``counts``:
    int64[S], how many wait; ``risk``: their relative deviation. The median leaves out machines without deviation; it
    is 0 if all machines have none.
    """
    expected = amounts.astype(np.float64)
    total = float(counts @ expected)
    # Tasks without expected use add nothing, but may not go where the limit is already exceeded.
    per_amount = risk**2 * float(counts @ expected**2) / total if total > 0 else 0.0
    deviation = np.sqrt(variance + np.maximum(left, 0) * per_amount)
    deviation = deviation[deviation > 0]
    return float(np.median(deviation)) if len(deviation) else 0.0


def subtract_margins(space: Rooms, use: Use, amounts: Int64, counts: Int64) -> tuple[Rooms, Int64]:
    """Return the allowed use less the margins, and how much of it a task of each shape takes, with its own margin.

    ``amounts``: int64[S, R], expected use of the waiting tasks, of which ``counts`` (int64[S]) wait. Without a
    configured deviation, both are returned as they are.
    """
    risk = use.settings.risk
    if not risk.deviation:
        return space, amounts
    variances = use_variances(space, use)
    lefts, charged = (space.whole.left.copy(), space.prod.left.copy()), amounts.copy()
    for position, name in enumerate(use.settings.known):
        deviation = risk.deviation.get(name, 0.0)
        if not deviation:
            continue
        # What is left below the threshold of all tasks, and below the threshold of prod tasks on machines that have
        # one.
        left = np.concatenate([lefts[0][position], lefts[1][position][space.separate]])
        variance = np.concatenate([variances[0][position], variances[1][position][space.separate]])
        limited = left < NO_LIMIT // 2
        asked = amounts[:, position]
        typical = full_deviation(variance[limited], left[limited], asked, counts, deviation)
        if typical == 0.0:
            continue
        base, slope = risk.quantile * typical / 2.0, risk.quantile / (2.0 * typical)
        for there, found in zip(lefts, variances, strict=True):
            kept = np.ceil(base + slope * found[position]).astype(np.int64)
            there[position] -= np.where(there[position] < NO_LIMIT // 2, kept, 0)
        square = slope * (deviation * deviation)
        charged[:, position] += np.ceil(asked.astype(np.float64) ** 2 * square).astype(np.int64)
    whole, prod = (
        replace(room, left=left) for room, left in zip((space.whole, space.prod), lefts, strict=True)
    )
    return replace(space, whole=whole, prod=prod), charged


def use_variances(space: Rooms, use: Use) -> tuple[Float64, Float64]:
    """Return the variance of the use that each room of ``space`` limits, ``whole`` and ``prod``: float64[R, M] each.

    The variance is that of figures and estimates, or of estimates alone where these stand for a report; 0 without a
    configured deviation.
    """
    tasks, assigned, settings = use.tasks, use.tasks.assigned, use.settings
    whole, prod = np.zeros((2, len(settings.known), use.machines.count))
    alone, prod_alone = (room.estimated[assigned.machine] for room in (space.whole, space.prod))
    for position, name in enumerate(settings.known):
        deviation = settings.risk.deviation.get(name, 0.0)
        if not deviation:
            continue
        excess = tasks.get_excess(position, ALL)
        draws = np.where(assigned.reported & (excess == 0), FIGURE_DRAWS, 1.0)
        guess = (deviation * tasks.alone(position, ALL)) ** 2
        known = (deviation * (tasks.get_used(position, ALL) + excess)) ** 2 * draws
        known = np.where(assigned.reported, known, guess)
        of_prod = np.where(tasks.active(ALL) & ~prod_alone, known, guess) * tasks.prod[assigned.kind]
        for found, variance in ((whole, np.where(alone, guess, known)), (prod, of_prod)):
            found[position] = np.bincount(assigned.machine, weights=variance, minlength=found.shape[1])
    return whole, np.where(space.separate, prod, whole)
