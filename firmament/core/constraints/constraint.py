"""The protocol of all constraints between tasks: rules, pairs, models' constraints, models' limits.

Admission, gangs, preemption, the check when a round is closed, and explanations ask the same questions of all of them.
Rules between tasks (``RuleState``), pairs of tasks (``PairState``), constraints of models (``ModelConstraint``) and
limits of models (``ModelLimits``) answer them. Where a round needs to know for thousands of tasks at once, families
have further ways to say the same, beside this protocol and tested against it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from cost_models.interface import Bool, Int64
from firmament.core.reasons import AnyReason


class Constraint(Protocol):
    """Where one more task of a class may go because of where others are, as it stands after some placements.

    Classes and machines go by the numbers of the problem that it was made for. ``allows`` says of one machine what
    ``refusals`` says of all; adding a task and taking it back changes nothing.
    """

    def involves(self, cls: int) -> bool:
        """Return whether tasks of a class may be refused machines, or matter to others."""
        ...

    def refusals(self, cls: int, at: Int64 | None = None) -> list[tuple[AnyReason, Bool]]:
        """Return reasons with the machines (of ``at``, int64[A], or all) that each closes to one more task of
        a class.
        """
        ...

    def allows(self, cls: int, machine: int) -> bool:
        """Return whether one more task of a class may go to a machine."""
        ...

    def add(self, cls: int, machine: int, count: int = 1) -> None:
        """Count ``count`` (negative: take back) tasks of a class on a machine, whether or not it allows them."""
        ...


class Constraints:
    """Several constraints as one."""

    def __init__(self, parts: Iterable[Constraint | None]) -> None:
        """None: there is none of a family."""
        self._parts = [part for part in parts if part is not None]

    def involves(self, cls: int) -> bool:
        """Return whether any of them involves a class."""
        return any(part.involves(cls) for part in self._parts)

    def refusals(self, cls: int, at: Int64 | None = None) -> list[tuple[AnyReason, Bool]]:
        """Return the refusals of all."""
        return [refusal for part in self._parts for refusal in part.refusals(cls, at)]

    def allows(self, cls: int, machine: int) -> bool:
        """Return whether all let one more task of a class onto a machine."""
        return all(part.allows(cls, machine) for part in self._parts)

    def add(self, cls: int, machine: int, count: int = 1) -> None:
        """Count tasks in all of them."""
        for part in self._parts:
            part.add(cls, machine, count)

    def admit(self, cls: int, machine: int) -> bool:
        """Count one more task of a class on a machine, if all let it in; returns whether they do."""
        allowed = self.allows(cls, machine)
        if allowed:
            self.add(cls, machine)
        return allowed
