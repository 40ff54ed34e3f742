"""The driver of all searches: it asks a move for one change after another, and keeps the changes that the move accepts.

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
    """Why a move leaves some tasks where they are; the text is the label of a metric."""

    GROUPS = "groups"
    """The tasks belong to a group that is distributed over a tree."""
    LEDGERS = "ledgers"
    """A ledger keeps account of their room, and releases nothing."""
    LIMITS = "limits"
    """Machines share a limit for the tasks, or one machine may take only some of them."""
    PAIRS = "pairs"
    """The tasks belong to an application whose pairs decide where they go."""
    PINS = "pins"
    """The tasks are pinned to machines."""
    RULES = "rules"
    """The tasks have rules about other tasks, or other tasks have rules about them."""
    SIZE = "size"
    """There are more tasks than the search is made for."""


@dataclass(frozen=True, slots=True)
class SearchFigures:
    """Result of one search; the figures of several searches of a move may be added."""

    move: str
    tried: int = 0
    """Number of changes that were evaluated."""
    accepted: int = 0
    """Number of these changes that were carried out."""
    unsupported: dict[Unsupported, int] = field(default_factory=dict)
    """Number of tasks that the move could not consider, by reason."""


SearchLog = list[SearchFigures]
"""The results of a round's searches, in order."""


@dataclass(slots=True)
class SearchBudget:
    """Work that a search may still do, in its own unit (turns, tries, placed tasks); searches may share it."""

    left: int

    def spend(self, amount: int = 1) -> None:
        """Subtract work that has been done."""
        self.left -= amount


Change = TypeVar("Change")


class SearchMove(Protocol[Change]):
    """One way to change a placement."""

    name: str

    def evaluate(self, budget: SearchBudget) -> Change | None:
        """Return the next change, or None if there is none left; spend the work that this takes."""

    def accepts(self, change: Change) -> bool:
        """Return whether the change should be kept."""

    def apply(self, change: Change) -> None:
        """Carry out the rest of the change that evaluating it has not done yet."""

    def undo(self, change: Change) -> None:
        """Undo what evaluating the change has done."""


def search(
    move: SearchMove[Change], budget: SearchBudget, *, needs: int = 1, patience: int = -1
) -> SearchFigures:
    """Try changes until less than ``needs`` of the budget is left, or until there is no further change.

    ``patience``: the search also ends after this many rejected changes in a row; never if negative.
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
    """Return how many tasks (``count[i]`` of class ``cls[i]``) by the first of ``reasons`` that applies."""
    tasks = count.copy()
    found = {}
    for reason, concerned in reasons.items():
        mine = concerned[cls]
        if number := int(tasks[mine].sum()):
            found[reason] = number
            tasks[mine] = 0
    return found
