"""Priority bands: no task stays pending that would fit if less important ones of the same round were taken back.

All priorities are first placed together, which is best while there is room for everybody. Only if that leaves a task
pending whose place is taken by a less important one is the round done again, band by band from the top. With rules
between tasks a lower band may open the way for a higher one, so the bands are then gone through once more together.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.problem import Assignments, PlacementProblem, Residual
from firmament.core.placement.outcome import Means, Placed, PlacementState, StageFigures
from firmament.core.placement.pairs.waves import place_last, place_pairs
from firmament.core.placement.passes import place_all, place_greedily, place_leftovers
from firmament.core.placement.waves import place_in_waves


def place_remaining(state: PlacementState, means: Means) -> Placed:
    """Place what remains as far as possible."""
    if state.pairs is not None:
        return place_pairs(state, state.pairs, means)
    if state.ruled:
        return place_in_waves(state, means)
    return Placed.joined([Placed(figures=StageFigures(waves=1)), place_all(state.residual, means)])


def place_rest(state: PlacementState) -> Assignments:
    """Place what remains as far as possible, task by task, without a network."""
    if state.pairs is not None:
        placed = place_last(state, state.pairs)
        state.fix_pairs(placed)
        return placed
    return place_leftovers(state) if state.ruled else place_greedily(state.residual)


def place_by_priority(problem: PlacementProblem, means: Means) -> tuple[Placed, Residual]:
    """Place what can be placed; returns that, and what is left of the problem."""
    state = PlacementState(problem)
    placed = place_remaining(state, means)
    residual = state.residual
    everyone = np.ones(problem.classes, dtype=np.bool_)
    if not displaced(problem, residual.active(), placed.assignments, everyone):
        return placed, residual
    state = PlacementState(problem)
    residual = state.residual
    waiting = residual.remaining
    left = np.zeros_like(waiting)
    figures = replace(placed.figures, waves=0)
    parts = [replace(placed, assignments=Assignments.empty(), figures=figures)]
    for rank in np.unique(problem.priority)[::-1].tolist():
        band = problem.priority == rank
        residual.remaining = np.where(band[:, None], waiting, 0)
        parts.append(place_remaining(state, means))
        left[band] = residual.remaining[band]
    residual.remaining = left
    if state.ruled:
        parts.append(Placed(place_rest(state)))
    return Placed.joined(parts), residual


def displaced(problem: PlacementProblem, waiting: Int64, placed: Assignments, among: Bool) -> bool:
    """Whether a task of the classes ``waiting`` would fit somewhere were it not for less important tasks of the round.

    ``among``: bool[C], classes some of which have to be those less important ones.
    """
    for rank in np.unique(problem.priority[waiting])[::-1].tolist():
        lower = problem.priority[placed.cls] < rank
        if not (lower & among[placed.cls]).any():
            continue
        without = PlacementState(problem)
        without.book(placed.taken(~lower))
        if any(without.takes(cls).any() for cls in waiting[problem.priority[waiting] == rank].tolist()):
            return True
    return False
