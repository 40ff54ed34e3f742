"""Takes the room that deviations of use may need from what machines can still take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cost_models.interface import Float64, Int64
from cost_models.load_aware.arguments import Settings
from cost_models.load_aware.joint_rows import Room, Rooms
from cost_models.load_aware.machine_use import Use
from cost_models.load_aware.risk import Margins, full_deviation, margins
from cost_models.load_aware.thresholds import NO_LIMIT


def with_margins(
    space: Rooms, use: Use, amounts: Int64, counts: Int64, settings: Settings
) -> tuple[Rooms, Int64]:
    """The room that is left beside margins, and what a task of each shape takes of it: int64[S, R].

    ``amounts``: int64[S, R], expected use of the waiting tasks, of which ``counts`` (int64[S]) wait. Without a
    configured deviation both are returned as they are.
    """
    if not settings.risk.deviation:
        return space, amounts
    spread = use.spread
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
