"""Defines the protocol of all constraints between tasks: rules, pairs, models' constraints, models' limits.

Joint admission, gangs, preemption, the check when a round closes, and explanations ask all constraints the same
questions. The answers come from rules between tasks (``RuleState``), pairs of tasks (``PairState``), constraints of
models (``ModelConstraint``) and limits of models (``ModelLimits``). If a round needs answers for thousands of tasks
at once, the classes have faster methods besides this protocol, and tests compare the two.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from cost_models.interface import Bool, Int64
from firmament.core.reasons import AnyReason


class Constraint(Protocol):
    """Says where one more task of a class may be placed, given where other tasks are.

    Classes and machines are numbered as in the problem for which the object was made. ``allows`` answers for one
    machine what ``refusals`` answers for all machines. Adding a task and removing it again changes nothing.
    """

    def involves(self, cls: int) -> bool:
        """Return whether tasks of a class may be refused machines, or may cause others to be refused machines."""
        ...

    def refusals(self, cls: int, at: Int64 | None = None) -> list[tuple[AnyReason, Bool]]:
        """Return each reason for which machines refuse one more task of a class, with these machines.

        ``at``: the machines to consider (int64[A]); None: all.
        """
        ...

    def allows(self, cls: int, machine: int) -> bool:
        """Return whether one more task of a class may go to a machine."""
        ...

    def add(self, cls: int, machine: int, count: int = 1) -> None:
        """Count tasks of a class on a machine, even if a constraint refuses them.

        A negative ``count`` removes tasks.
        """
        ...


class Constraints:
    """Several constraints combined into one."""

    def __init__(self, parts: Iterable[Constraint | None]) -> None:
        """``parts``: the constraints; those that are None are ignored."""
        self._parts = [part for part in parts if part is not None]

    def involves(self, cls: int) -> bool:
        """Return whether any of the constraints involves a class."""
        return any(part.involves(cls) for part in self._parts)

    def refusals(self, cls: int, at: Int64 | None = None) -> list[tuple[AnyReason, Bool]]:
        """Return the refusals of all constraints."""
        return [refusal for part in self._parts for refusal in part.refusals(cls, at)]

    def allows(self, cls: int, machine: int) -> bool:
        """Return whether all constraints allow one more task of a class on a machine."""
        return all(part.allows(cls, machine) for part in self._parts)

    def add(self, cls: int, machine: int, count: int = 1) -> None:
        """Count tasks in all constraints."""
        for part in self._parts:
            part.add(cls, machine, count)

    def admit(self, cls: int, machine: int) -> bool:
        """Count one more task of a class on a machine if all constraints allow it; return whether they do."""
        allowed = self.allows(cls, machine)
        if allowed:
            self.add(cls, machine)
        return allowed
