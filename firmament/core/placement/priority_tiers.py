"""Priority bands: no task stays pending that would fit if less important ones of the same round were taken back.

All priorities are first placed together, which is best while there is room for everybody. Only if that leaves a task
pending whose place is taken by a less important one is the round done again, band by band from the top. With rules
between tasks a lower band may open the way for a higher one, so the bands are then gone through once more together.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.problem import Assignments, PlacementProblem, Residual
from firmament.core.placement.greedy import open_machines, place_greedily, place_leftovers
from firmament.core.placement.outcome import Figures, Means, Placed
from firmament.core.placement.pairs.waves import fix_pairs, open_to_pairs, place_last, place_pairs
from firmament.core.placement.passes import place_all
from firmament.core.placement.waves import place_in_waves
from firmament.core.rules.counters import RuleState
from firmament.core.rules.pairs import PairState
from firmament.core.rules.ruleset import RuleSet


class Standing:
    """What has become of a problem: the residual and, with rules between or pairs of tasks, where those stand."""

    def __init__(self, problem: PlacementProblem) -> None:
        self.residual = Residual(problem)
        self.state = None if problem.rules is None else RuleState(problem.rules)
        self.pairs = PairState(problem.pairs) if problem.pairs is not None and problem.pairs.steers else None
        if self.pairs is not None and self.state is None:
            self.state = RuleState(RuleSet([]))

    def copy(self) -> Standing:
        """An independent copy."""
        twin = copy(self)
        twin.residual = self.residual.copy()
        twin.state = None if self.state is None else self.state.copy()
        twin.pairs = None if self.pairs is None else self.pairs.copy()
        return twin

    def place(self, means: Means) -> Placed:
        """Place what remains as far as possible."""
        if self.state is None:
            return Placed.joined([Placed(figures=Figures(waves=1)), place_all(self.residual, means)])
        if self.pairs is not None:
            return place_pairs(self.residual, self.state, self.pairs, means)
        return place_in_waves(self.residual, self.state, means)

    def place_rest(self) -> Assignments:
        """Place what remains as far as possible, task by task, without a network."""
        if self.state is None:
            return place_greedily(self.residual)
        if self.pairs is None:
            return place_leftovers(self.residual, self.state)
        placed = place_last(self.residual, self.state, self.pairs)
        fix_pairs(self.pairs, placed)
        return placed

    def book(self, placed: Assignments) -> None:
        """Book placements made elsewhere."""
        self.residual.take(placed)
        if self.state is not None:
            for cls, machine, count in placed.entries():
                self.state.add(cls, machine, count)
        if self.pairs is not None:
            self.pairs.add_all(placed.cls, placed.machine, placed.count)
            fix_pairs(self.pairs, placed)

    def takes(self, cls: int) -> Bool:
        """bool[M]: machines that would take one more task of a class."""
        if self.state is not None and self.pairs is not None:
            return open_to_pairs(self.residual, self.state, self.pairs, cls)
        return open_machines(self.residual, self.state, cls)


def place_by_priority(problem: PlacementProblem, means: Means) -> tuple[Placed, Residual]:
    """Place what can be placed; returns that, and what is left of the problem."""
    standing = Standing(problem)
    placed = standing.place(means)
    residual = standing.residual
    everyone = np.ones(problem.classes, dtype=np.bool_)
    if not displaced(problem, residual.active(), placed.assignments, everyone):
        return placed, residual
    standing = Standing(problem)
    residual = standing.residual
    waiting = residual.remaining
    left = np.zeros_like(waiting)
    figures = replace(placed.figures, waves=0)
    parts = [replace(placed, assignments=Assignments.empty(), figures=figures)]
    for rank in np.unique(problem.priority)[::-1].tolist():
        band = problem.priority == rank
        residual.remaining = np.where(band[:, None], waiting, 0)
        parts.append(standing.place(means))
        left[band] = residual.remaining[band]
    residual.remaining = left
    if standing.state is not None:
        parts.append(Placed(standing.place_rest()))
    return Placed.joined(parts), residual


def displaced(problem: PlacementProblem, waiting: Int64, placed: Assignments, among: Bool) -> bool:
    """Whether a task of the classes ``waiting`` would fit somewhere were it not for less important tasks of the round.

    ``among``: bool[C], classes some of which have to be those less important ones.
    """
    for rank in np.unique(problem.priority[waiting])[::-1].tolist():
        lower = problem.priority[placed.cls] < rank
        if not (lower & among[placed.cls]).any():
            continue
        without = Standing(problem)
        without.book(placed.taken(~lower))
        if any(without.takes(cls).any() for cls in waiting[problem.priority[waiting] == rank].tolist()):
            return True
    return False
