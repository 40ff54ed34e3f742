"""Where pairs of tasks stand while preemption gives places: limits and links that keep tasks out.

Tasks that go still count: limits and links may seem tighter than they will be, never wider.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.rules.pairs import PairState


class PairOutlook:
    """What pairs let in, place by place. Classes that belong to no pair may go anywhere, and count for nothing."""

    def __init__(self, state: PairState) -> None:
        self._state = state

    @classmethod
    def after(cls, problem: PlacementProblem, placed: Assignments) -> PairOutlook | None:
        """The outlook after a round's placements; None if pairs keep nobody out."""
        if problem.pairs is None or not (problem.pairs.hard or problem.pairs.limited):
            return None
        outlook = cls(PairState(problem.pairs))
        for each, machine, count in zip(placed.cls, placed.machine, placed.count, strict=True):
            outlook.count(int(each), int(machine), int(count))
        return outlook

    def copy(self) -> PairOutlook:
        """An independent copy."""
        return PairOutlook(self._state.copy())

    def open_machines(self, cls: int) -> Bool | None:
        """bool[M]: machines that pairs leave open to one more task of a class; None: all."""
        if self._state.rules.kind[cls] < 0:
            return None
        return self._open_domains(cls)[self._state.terms.domain]

    def lets_in(self, cls: int, machine: int) -> bool:
        """Whether pairs leave a machine open to one more task of a class."""
        if self._state.rules.kind[cls] < 0:
            return True
        return bool(self._open_domains(cls)[self._state.terms.domain[machine]])

    def count(self, cls: int, machine: int, count: int) -> None:
        """Count tasks of a class on a machine, or with a negative ``count`` no longer."""
        kind = self._state.rules.kind[cls : cls + 1]
        if kind[0] >= 0:
            self._state.add(kind, self._state.terms.domain[machine : machine + 1], np.array([count]))

    def _open_domains(self, cls: int) -> Bool:
        """bool[D]: domains that pairs leave open to one more task of a class."""
        allowed: Bool = self._state.view(self._state.rules.kind[cls : cls + 1]).allowed[0]
        return allowed
