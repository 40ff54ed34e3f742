"""Drives all searches for a better placement: asks a move for changes, and keeps those that the move accepts.

A *move* is one way to change a placement; each has a file in ``moves/``. The driver knows nothing of placements: it
keeps the budget, counts changes, and decides when to stop. Budgets count work, never time, so that equal rounds have
equal results.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeVar

from cost_models.interface import Bool, Int64


class Unsupported(StrEnum):
    """Reason why a move leaves some tasks where they are; the text is the label of a metric."""

    GROUPS = "groups"
    """The tasks belong to a group that is distributed over a tree."""
    LEDGERS = "ledgers"
    """A ledger keeps account of shared capacity that the tasks use, and releases nothing."""
    LIMITS = "limits"
    """Machines share a limit for the tasks, or one machine may take only some of the tasks."""
    PAIRS = "pairs"
    """The tasks belong to an application whose pairs decide where they go."""
    PINS = "pins"
    """The tasks are pinned to machines."""
    RULES = "rules"
    """The tasks have rules about other tasks, or other tasks have rules about them."""
    SIZE = "size"
    """The search was not run, as there are more tasks than it can handle."""


@dataclass(frozen=True, slots=True)
class SearchFigures:
    """Result of one search; the figures of several searches with one move may be added."""

    move: str
    tried: int = 0
    """Number of changes that were evaluated."""
    accepted: int = 0
    """Number of the evaluated changes that were carried out."""
    unsupported: dict[Unsupported, int] = field(default_factory=dict)
    """Number of tasks that the move could not consider, by the reason why."""


SearchLog = list[SearchFigures]
"""The results of all searches of a round, in order."""


@dataclass(slots=True)
class SearchBudget:
    """Work that a search may still do, in its own unit (steps, tries, placed tasks); several searches may share one."""

    left: int

    def spend(self, amount: int = 1) -> None:
        """Subtract work that the search has done."""
        self.left -= amount


Change = TypeVar("Change")


class SearchMove(Protocol[Change]):
    """One way to change a placement, such as exchanging two tasks."""

    name: str

    def evaluate(self, budget: SearchBudget) -> Change | None:
        """Return the next change, or None if none is left; subtract the work that this takes from the budget."""

    def accepts(self, change: Change) -> bool:
        """Return whether the change should be kept."""

    def apply(self, change: Change) -> None:
        """Carry out what evaluating the change has not done yet."""

    def undo(self, change: Change) -> None:
        """Undo what evaluating the change has done so far."""


def search(
    move: SearchMove[Change], budget: SearchBudget, *, needs: int = 1, patience: int = -1
) -> SearchFigures:
    """Try changes until less than ``needs`` of the budget is left, or until the move has no further change.

    ``patience``: the search also ends after this many rejected changes in a row; it does not if this is negative.
    """
    tried = accepted = idle = 0
    while budget.left >= needs and idle != patience:
        change = move.evaluate(budget)
        if change is None:
            break
        tried += 1
        if move.accepts(change):
            move.apply(change)
            accepted, idle = accepted + 1, 0
        else:
            move.undo(change)
            idle += 1
    return SearchFigures(move.name, tried, accepted)


def count_unsupported(reasons: dict[Unsupported, Bool], cls: Int64, count: Int64) -> dict[Unsupported, int]:
    """Return the number of tasks by reason: ``count[i]`` tasks of class ``cls[i]`` count for the first that applies."""
    tasks = count.copy()
    found = {}
    for reason, concerned in reasons.items():
        mine = concerned[cls]
        if number := int(tasks[mine].sum()):
            found[reason] = number
            tasks[mine] = 0
    return found
