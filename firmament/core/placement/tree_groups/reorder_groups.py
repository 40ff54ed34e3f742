"""Finds places for groups over a tree that found none, by changing the order of the groups.

Groups choose places one after another, so an early group may take the only domain that a later one could have used. A
group without places is therefore placed anew as if it came first, and the groups whose places it takes choose again.
If one of those groups finds nothing, the search first tries to leave that group its place. After that, the groups in
trouble choose first as well ("squeaky wheel" optimization, Joslin and Clements 1999). A new arrangement counts only
if every group that had a place still has one, so even the least important group loses nothing. The search is limited
and deterministic; it may miss an arrangement that exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from cost_models.interface import Bool
from firmament.core.board.board import Board
from firmament.core.flow.problem import Assignments
from firmament.core.placement.tree_groups.placer import GroupPlacer
from firmament.core.search.driver import SearchBudget, SearchLog, search
from firmament.core.search.tuning import GroupTuning


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Places of several groups: ``placed`` by group, in order of admission; ``board`` with these places booked."""

    board: Board
    placed: dict[int, Assignments]


def rearrange(
    begin: Board,
    placer: GroupPlacer,
    found: Arrangement,
    blocked: Sequence[int],
    tuning: GroupTuning,
    log: SearchLog,
) -> Arrangement:
    """Return ``found``, or an arrangement in which all of its groups and some of ``blocked`` have places.

    ``begin``: the board before any group was placed; ``blocked``: groups without a place, the most important first.
    Errors of the solver are raised.
    """
    budget = SearchBudget(tuning.placements + (len(found.placed) + len(blocked)) // tuning.share)
    move = ReorderGroups(begin, placer, found, blocked, tuning)
    log.append(search(move, budget))
    return move.found


class ReorderGroups:
    """A move that gives the next group without places some, by another order of the groups; a change is an arrangement.

    ``found``: the best arrangement so far. The budget counts how often a group is placed once more.
    """

    name = "reorder_groups"

    def __init__(
        self,
        begin: Board,
        placer: GroupPlacer,
        found: Arrangement,
        blocked: Sequence[int],
        tuning: GroupTuning,
    ) -> None:
        self._tuning = tuning
        self.found = self._first = found
        self._begin = begin
        self._placer = placer
        self._blocked = iter(blocked)
        self._in_vain: set[tuple[object, ...]] = set()

    def evaluate(self, budget: SearchBudget) -> Arrangement | None:
        """Return an arrangement with one more group, or the present one; None once all groups were tried."""
        for gang in self._blocked:
            now = self._placer.copy_to(self.found.board)
            # In any order, the groups need the same amounts in all. Another order therefore helps no gang that lacks
            # quota or capacity in sum.
            if now.explain_lack_of_quota(gang) or now.lacks_room(gang):
                continue
            kind = self._placer.describe_needs(gang)
            if kind in self._in_vain:
                continue
            found = self._admit(gang, budget)
            if found is None:
                self._in_vain.add(kind)
            return found or self.found
        return None

    def accepts(self, change: Arrangement) -> bool:
        """Return whether the arrangement ``change`` places one more group than the best one so far."""
        return change is not self.found

    def apply(self, change: Arrangement) -> None:
        """Make ``change`` the best arrangement so far."""
        self.found = change
        self._in_vain.clear()

    def undo(self, change: Arrangement) -> None:
        """Do nothing: a change that is not accepted has changed nothing."""

    def _admit(self, gang: int, budget: SearchBudget) -> Arrangement | None:
        """Return an arrangement with places for one more group, or None if none was found."""
        if self.found is not self._first:  # other groups have moved, so the group may fit now
            trial = self._placer.copy_to(self.found.board.copy())
            places = self._place(trial, gang, budget)
            if places is not None:
                return Arrangement(trial.board, {**self.found.placed, gang: places})
        respected = self._respect_others(gang, budget)
        if isinstance(respected, Arrangement):
            return respected
        return self._let_choose([gang, respected[0]], budget) if respected else None

    def _respect_others(self, gang: int, budget: SearchBudget) -> Arrangement | list[int]:
        """Return an arrangement that leaves their places to groups that cannot move.

        If there is none, return these groups.
        """
        respected: list[int] = []
        while len(respected) <= self._tuning.respected:
            outcome = self._arrange(respected, [gang], budget)
            if isinstance(outcome, Arrangement):
                return outcome
            if outcome is None or outcome == gang or outcome in respected:
                break
            respected.append(outcome)
        return respected

    def _let_choose(self, urgent: list[int], budget: SearchBudget) -> Arrangement | None:
        """Return an arrangement where ``urgent`` groups, and others without places, choose first; or None."""
        tried: set[tuple[int, ...]] = set()
        while len(urgent) <= self._tuning.urgent and tuple(urgent) not in tried:
            tried.add(tuple(urgent))
            outcome = self._arrange([], urgent, budget)
            if isinstance(outcome, Arrangement):
                return outcome
            if outcome is None or outcome == urgent[0]:
                break
            if outcome in urgent:
                urgent = [outcome, *(each for each in urgent if each != outcome)]
            else:
                urgent = [*urgent, outcome]
        return None

    def _arrange(
        self, respected: Sequence[int], urgent: Sequence[int], budget: SearchBudget
    ) -> Arrangement | int | None:
        """Return an arrangement with ``urgent``, or a group that found no place, or None if the budget is used up.

        Groups come in this order: ``respected`` groups at their present places; ``urgent`` groups at any places; groups
        whose present places are still free; last, the groups whose places have been taken, at any places.
        """
        trial = self._placer.copy_to(self._begin.copy())
        now: dict[int, Assignments] = {}
        for gang in respected:
            kept = trial.book_again(self.found.placed[gang])
            if kept is None:
                return gang
            now[gang] = kept
        for gang in chain(urgent, self._iter_displaced(trial, now)):
            places = self._place(trial, gang, budget)
            if places is None:
                return gang if budget.left > 0 else None
            now[gang] = places
        return Arrangement(trial.board, now)

    def _iter_displaced(self, trial: GroupPlacer, now: dict[int, Assignments]) -> Iterator[int]:
        """Book groups whose present places are still free, and add them to ``now``; then yield all other groups."""
        others = {gang: places for gang, places in self.found.placed.items() if gang not in now}
        taken = _find_touched(now, trial.board.residual.problem.machines)
        apart = trial.shares_machines_only()
        moved = []
        for gang, places in others.items():
            if apart and not taken[places.machine].any():
                trial.board.book(places)
                now[gang] = places
                continue
            kept = trial.book_again(places)
            if kept is None:
                moved.append(gang)
            else:
                now[gang] = kept
        yield from moved

    def _place(self, trial: GroupPlacer, gang: int, budget: SearchBudget) -> Assignments | None:
        """Place and book a group; return None if it finds no places, or if the budget is used up."""
        if budget.left <= 0:
            return None
        budget.spend()
        places = trial.place(gang)
        return None if gang in trial.shortages else places


def _find_touched(placed: dict[int, Assignments], machines: int) -> Bool:
    """Return which machines have places in ``placed``: bool[M]."""
    taken = np.zeros(machines, dtype=np.bool_)
    for places in placed.values():
        taken[places.machine] = True
    return taken
