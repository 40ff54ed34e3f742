"""The protocol of all constraints between tasks: rules, pairs, models' constraints, models' limits.

Admission, gangs, preemption, the check when a round closes, and explanations ask the same questions of all of them. The
answers come from rules between tasks (``RuleState``), pairs of tasks (``PairState``), constraints of models
(``ModelConstraint``) and limits of models (``ModelLimits``). Where a round needs answers for thousands of tasks at
once, families have further methods besides this protocol, which are tested against it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from cost_models.interface import Bool, Int64
from firmament.core.reasons import AnyReason


class Constraint(Protocol):
    """Says where one more task of a class may be placed, given the places of other tasks.

    Classes and machines have the numbers of the problem that it was made for. ``allows`` says of one machine what
    ``refusals`` says of all; adding a task and removing it again changes nothing.
    """

    def involves(self, cls: int) -> bool:
        """Return whether tasks of a class may be refused machines, or may make others be refused machines."""
        ...

    def refusals(self, cls: int, at: Int64 | None = None) -> list[tuple[AnyReason, Bool]]:
        """Return reasons, each with the machines (of ``at``, int64[A], or all) that refuse one more task of a class for
        it.
        """
        ...

    def allows(self, cls: int, machine: int) -> bool:
        """Return whether one more task of a class may go to a machine."""
        ...

    def add(self, cls: int, machine: int, count: int = 1) -> None:
        """Count tasks of a class on a machine, whether or not it allows them; a negative ``count`` removes them."""
        ...


class Constraints:
    """Several constraints as one."""

    def __init__(self, parts: Iterable[Constraint | None]) -> None:
        """Parts that are None are ignored."""
        self._parts = [part for part in parts if part is not None]

    def involves(self, cls: int) -> bool:
        """Return whether any part involves a class."""
        return any(part.involves(cls) for part in self._parts)

    def refusals(self, cls: int, at: Int64 | None = None) -> list[tuple[AnyReason, Bool]]:
        """Return the refusals of all parts."""
        return [refusal for part in self._parts for refusal in part.refusals(cls, at)]

    def allows(self, cls: int, machine: int) -> bool:
        """Return whether all parts allow one more task of a class on a machine."""
        return all(part.allows(cls, machine) for part in self._parts)

    def add(self, cls: int, machine: int, count: int = 1) -> None:
        """Count tasks in all parts."""
        for part in self._parts:
            part.add(cls, machine, count)

    def admit(self, cls: int, machine: int) -> bool:
        """Count one more task of a class on a machine if all parts allow it; return whether they do."""
        allowed = self.allows(cls, machine)
        if allowed:
            self.add(cls, machine)
        return allowed
