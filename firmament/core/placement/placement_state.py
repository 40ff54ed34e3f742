"""What has become of a problem as tasks are placed: what is left, and where rules between tasks and pairs stand."""

from __future__ import annotations

from copy import copy

from cost_models.interface import Bool
from firmament.core.flow.problem import Assignments, PlacementProblem, Residual
from firmament.core.rules.counters import RuleState
from firmament.core.rules.pairs import PairState
from firmament.core.rules.ruleset import ClassRules, RuleSet


class PlacementState:
    """``residual``: what is left; ``rules``: where those between tasks stand, and ``pairs`` those of tasks, None where
    these have no say in where tasks go. ``ruled``: there are any of either.
    """

    def __init__(self, problem: PlacementProblem) -> None:
        self.residual = Residual(problem)
        self.rules = RuleState(problem.rules or RuleSet([]))
        self.pairs = PairState(problem.pairs) if problem.pairs is not None and problem.pairs.steers else None
        self.ruled = problem.rules is not None or self.pairs is not None

    def copy(self) -> PlacementState:
        """An independent copy."""
        twin = copy(self)
        twin.residual, twin.rules = self.residual.copy(), self.rules.copy()
        twin.pairs = None if self.pairs is None else self.pairs.copy()
        return twin

    def rules_of(self, cls: int) -> ClassRules:
        """The rules of a class, empty ones if it has none."""
        return self.rules.rules.rules(cls)

    def open_to(self, cls: int) -> Bool:
        """bool[M]: machines that may take, and have room for, one more task of a class, rules and pins included."""
        problem = self.residual.problem
        fits = self.residual.fits(int(problem.shape[cls]))
        allowed = self.rules.allowed(cls)
        if allowed is not None:
            fits &= allowed
        return problem.within_pins(cls, fits)

    def takes(self, cls: int) -> Bool:
        """The same, limits of pairs included."""
        fits = self.open_to(cls)
        for _, refused in self.pairs.refusals(cls) if self.pairs is not None else ():
            fits &= ~refused
        return fits

    def book(self, placed: Assignments) -> None:
        """Book placements made elsewhere, of tasks that stay."""
        self.residual.take(placed)
        if self.ruled:
            for cls, machine, count in placed.entries():
                self.rules.add(cls, machine, count)
        self.count_pairs(placed)
        self.fix_pairs(placed)

    def count_pairs(self, placed: Assignments) -> None:
        """Count what is placed for pairs of tasks; it may still move."""
        if self.pairs is not None:
            self.pairs.add_all(placed.cls, placed.machine, placed.count)

    def fix_pairs(self, placed: Assignments) -> None:
        """Take what has been placed, and counted, for tasks that stay."""
        if self.pairs is not None:
            tasks = placed.tasks()
            self.pairs.fix(tasks.cls, tasks.machine)
