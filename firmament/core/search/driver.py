"""One driver of all searches: it asks a move for one change after another, and keeps those that the move accepts.

A *move* is one way to change what has been decided; there is a file of each in ``moves/``. The driver knows nothing of
placements: it has the budget, counts what comes of it, and stops. Budgets count work, never time, so that equal rounds
have equal results.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeVar

from cost_models.interface import Bool, Int64


class Unsupported(StrEnum):
    """Why a move leaves tasks as they are, where they are concerned; the text is a label of a metric."""

    GROUPS = "groups"
    """They belong to a group that is distributed over a tree."""
    LEDGERS = "ledgers"
    """A model keeps an account of their room, and gives nothing back."""
    LIMITS = "limits"
    """Machines share a limit on what they take, or one machine takes only a limited number of the tasks."""
    PAIRS = "pairs"
    """They belong to an application whose pairs decide where its tasks go."""
    PINS = "pins"
    """They name their machines."""
    RULES = "rules"
    """They have rules about other tasks, or other tasks have rules about them."""
    SIZE = "size"
    """The tasks are more than the search is made for."""


@dataclass(frozen=True, slots=True)
class SearchFigures:
    """What came of one search. Figures of several searches of a move may be added up."""

    move: str
    tried: int = 0
    """Changes that were evaluated."""
    accepted: int = 0
    """Changes among these that were carried out."""
    unsupported: dict[Unsupported, int] = field(default_factory=dict)
    """Tasks that the move had to leave as they are, by reason."""


SearchLog = list[SearchFigures]
"""What the searches of a round came to, in order."""


@dataclass(slots=True)
class SearchBudget:
    """Work that a search may still do, in a unit of its own: turns, tries, tasks put down. Searches may share one."""

    left: int

    def spend(self, amount: int = 1) -> None:
        """Note that so much has been done."""
        self.left -= amount


Change = TypeVar("Change")


class SearchMove(Protocol[Change]):
    """One way to change what has been decided."""

    name: str

    def evaluate(self, budget: SearchBudget) -> Change | None:
        """Return the next change to look at, None if there is none left; spends what that takes."""

    def accepts(self, change: Change) -> bool:
        """Return whether the change is one to keep."""

    def apply(self, change: Change) -> None:
        """Carry the change out, as far as evaluating it has not done so."""

    def undo(self, change: Change) -> None:
        """Take back what evaluating the change has done."""


def search(
    move: SearchMove[Change], budget: SearchBudget, *, needs: int = 1, patience: int = -1
) -> SearchFigures:
    """Try changes until a budget has less than ``needs`` left, or nothing is left to try.

    ``patience``: changes in a row that are not accepted, after which the search ends; negative: it does not.
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
    """Return tasks (``count[i]`` of class ``cls[i]``) by the first of the reasons that holds for their class,
    bool[C] each.
    """
    tasks = count.copy()
    found = {}
    for reason, concerned in reasons.items():
        mine = concerned[cls]
        if number := int(tasks[mine].sum()):
            found[reason] = number
            tasks[mine] = 0
    return found
