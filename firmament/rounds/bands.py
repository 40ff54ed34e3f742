"""Priority bands: no task stays pending that would fit if less important ones of the same round were taken back.

All priorities are first placed together, which is best while there is room for everybody. Only if that leaves a task
pending whose place is taken by a less important one is the round done again, band by band from the top.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool
from firmament.flow.problem import Assignments, PlacementProblem, Residual
from firmament.rounds.passes import PassLog, PassOptions, place_all
from firmament.solvers.base import Solver


def place_by_priority(
    problem: PlacementProblem, solver: Solver, options: PassOptions, log: PassLog
) -> tuple[Assignments, Residual]:
    """Place what can be placed; returns the assignments and what is left of the problem."""
    residual = Residual(problem)
    placed = place_all(residual, solver, options, log)
    log.waves = 1
    if not residual.remaining.any() or not _displaced(problem, residual, placed):
        return placed, residual
    residual = Residual(problem)
    waiting = residual.remaining
    left = np.zeros_like(waiting)
    parts = []
    bands = np.unique(problem.priority)[::-1].tolist()
    for rank in bands:
        band = problem.priority == rank
        residual.remaining = np.where(band[:, None], waiting, 0)
        parts.append(place_all(residual, solver, options, log))
        left[band] = residual.remaining[band]
    residual.remaining = left
    log.waves = len(bands)
    return Assignments.joined(parts), residual


def _displaced(problem: PlacementProblem, residual: Residual, placed: Assignments) -> bool:
    """Whether a pending task would fit somewhere were it not for less important tasks placed in this round."""
    for rank in np.unique(problem.priority[residual.active()])[::-1].tolist():
        lower = problem.priority[placed.cls] < rank
        if not lower.any():
            continue
        without = Residual(problem)
        without.take(placed.taken(~lower))
        for cls in residual.active()[problem.priority[residual.active()] == rank].tolist():
            fits: Bool = without.fits(int(problem.shape[cls]))
            if cls in problem.pins:
                fits = fits[problem.pins[cls]]
            if fits.any():
                return True
    return False
