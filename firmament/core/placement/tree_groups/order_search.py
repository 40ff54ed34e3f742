"""Finds places for groups that found none, by another order of the groups.

Groups choose one after another, so an early one may take the only domain that a later one could have used. A group that
is left out is therefore placed anew as if it came first; those whose places it takes choose again. If one of them finds
nothing, the newcomer has to respect its place, and later those in trouble choose first, too ("squeaky wheel"
optimization, Joslin and Clements 1999). A new arrangement counts only if everyone who had a place has one still, so
no group loses by it, however unimportant. The search is bounded and depends on nothing but its input; it may miss
an arrangement that there is.
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
from firmament.core.placement.tuning import GroupTuning


@dataclass(frozen=True, slots=True)
class Arrangement:
    """``placed``: groups with places, in order of admission, and those; ``board``: what they leave."""

    board: Board
    placed: dict[int, Assignments]


def rearrange(
    begin: Board,
    placer: GroupPlacer,
    found: Arrangement,
    blocked: Sequence[int],
    tuning: GroupTuning,
) -> Arrangement:
    """``found``, or an arrangement in which all of its groups and some of ``blocked`` have places.

    ``begin``: what there was before any of them was placed; ``blocked``: those without a place, the most important
    first. Raises what the solver raises.
    """
    left = tuning.placements + (len(found.placed) + len(blocked)) // tuning.share
    search = _OrderSearch(begin, placer, found, left, tuning)
    in_vain: set[tuple[object, ...]] = set()
    for gang in blocked:
        kind = placer.kind(gang)
        if search.left <= 0:
            break
        if kind in in_vain or placer.copy_to(search.found.board).lacks_room(gang):
            continue
        if search.admits(gang):
            in_vain.clear()
        else:
            in_vain.add(kind)
    return search.found


class _OrderSearch:
    """``found``: the best arrangement so far; ``left``: groups that may still be placed once more."""

    def __init__(
        self, begin: Board, placer: GroupPlacer, found: Arrangement, left: int, tuning: GroupTuning
    ) -> None:
        self._tuning = tuning
        self.found = found
        self.left = left
        self._first = found
        self._begin = begin
        self._placer = placer

    def admits(self, gang: int) -> bool:
        """Whether an arrangement with one more group was found."""
        if self.found is not self._first:  # what was full for it may have become free
            trial = self._placer.copy_to(self.found.board.copy())
            places = self._place(trial, gang)
            if places is not None:
                self.found = Arrangement(trial.board, {**self.found.placed, gang: places})
                return True
        respected = self._respecting(gang)
        return respected is None or (len(respected) > 0 and self._urgent([gang, respected[0]]))

    def _respecting(self, gang: int) -> list[int] | None:
        """Place a group anywhere but where those are who could not go elsewhere; None if done, else who those are."""
        respected: list[int] = []
        while len(respected) <= self._tuning.respected:
            outcome = self._arrange(respected, [gang])
            if isinstance(outcome, Arrangement):
                self.found = outcome
                return None
            if outcome is None or outcome == gang or outcome in respected:
                break
            respected.append(outcome)
        return respected

    def _urgent(self, urgent: list[int]) -> bool:
        """Let groups choose first, and then those who find no place because of that; whether that did it."""
        tried: set[tuple[int, ...]] = set()
        while len(urgent) <= self._tuning.urgent and tuple(urgent) not in tried:
            tried.add(tuple(urgent))
            outcome = self._arrange([], urgent)
            if isinstance(outcome, Arrangement):
                self.found = outcome
                return True
            if outcome is None or outcome == urgent[0]:
                break
            if outcome in urgent:
                urgent = [outcome, *(each for each in urgent if each != outcome)]
            else:
                urgent = [*urgent, outcome]
        return False

    def _arrange(self, respected: Sequence[int], urgent: Sequence[int]) -> Arrangement | int | None:
        """An arrangement of all groups with places and of ``urgent``, or which group found none; None: no more tries.

        First come ``respected``, where they are; then ``urgent``, in order, wherever they like; then whoever can stay
        where it is; and last, in order, those whose places have been taken.
        """
        trial = self._placer.copy_to(self._begin.copy())
        now: dict[int, Assignments] = {}
        for gang in respected:
            kept = trial.again(self.found.placed[gang])
            if kept is None:
                return gang
            now[gang] = kept
        for gang in chain(urgent, self._iter_displaced(trial, now)):
            places = self._place(trial, gang)
            if places is None:
                return gang if self.left > 0 else None
            now[gang] = places
        return Arrangement(trial.board, now)

    def _iter_displaced(self, trial: GroupPlacer, now: dict[int, Assignments]) -> Iterator[int]:
        """Book the groups that can stay where they are, in order, and add them to ``now``; then yield the others."""
        others = {gang: places for gang, places in self.found.placed.items() if gang not in now}
        taken = _find_touched(now, trial.board.residual.problem.machines)
        apart = trial.shares_machines_only()
        moved = []
        for gang, places in others.items():
            if apart and not taken[places.machine].any():
                trial.board.book(places)
                now[gang] = places
                continue
            kept = trial.again(places)
            if kept is None:
                moved.append(gang)
            else:
                now[gang] = kept
        yield from moved

    def _place(self, trial: GroupPlacer, gang: int) -> Assignments | None:
        """Places for a group, booked; None if it finds none, or nothing may be placed any more."""
        if self.left <= 0:
            return None
        self.left -= 1
        places = trial.place(gang)
        return None if gang in trial.shortages else places


def _find_touched(placed: dict[int, Assignments], machines: int) -> Bool:
    """bool[M]: machines with places in ``placed``."""
    taken = np.zeros(machines, dtype=np.bool_)
    for places in placed.values():
        taken[places.machine] = True
    return taken
