"""Which machines could be emptied, all of them together, with few moves: a search whose every step is tried.

Machines are taken in order of moves, many at a time while that works, so that thousands take few tries. One that does
not fit is passed over, and the search goes on behind it: it is no search of prefixes. Afterwards machines are exchanged
for others that take fewer moves, or for several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from firmament.core.rescheduling.trials import Trials

UNLIMITED = 2**62
_OTHERS = 24
"""Machines that are looked at in place of one: those with the fewest moves."""


@dataclass(frozen=True, slots=True)
class Consolidation:
    """``machines`` can be emptied together by ``moves``: uid -> machine. No choice can empty more than ``most``."""

    machines: tuple[str, ...]
    moves: Mapping[str, str]
    most: int


def consolidate(
    trials: Trials, candidates: Iterable[str], *, tries: int, budget: int = UNLIMITED
) -> Consolidation:
    """Return machines that can be emptied together: as many as are found, with as few moves as are found.

    At most so many ``tries`` are made, and the tasks of the machines are at most ``budget``.
    """
    moves = {name: trials.moves(name) for name in candidates}
    ordered = sorted(moves, key=lambda name: (moves[name], name))
    search = _EmptyingSearch(trials, {name: moves[name] for name in ordered}, tries, budget)
    search.add(ordered)
    while search.exchange():
        pass
    return Consolidation(tuple(trials.gone), dict(trials.moved), search.most)


class _EmptyingSearch:
    def __init__(self, trials: Trials, moves: Mapping[str, int], tries: int, budget: int) -> None:
        self._trials, self._moves, self._left, self._budget = trials, moves, tries, budget
        self.most = trials.most_emptied(moves.keys())

    def _taken(self, machines: Sequence[str]) -> bool:
        """Try more machines, and take them if they fit."""
        if self._left <= 0 or self._total(self._trials.gone) + self._total(machines) > self._budget:
            return False
        self._left -= 1
        return self._trials.take(machines)

    def add(self, machines: Sequence[str]) -> None:
        """Add as many as fit, in this order: twice as many after each that fits, half as many after one that does not.

        The search goes on behind what does not fit by itself.
        """
        gone = self._trials.gone
        at, step = 0, 1
        while at < len(machines) and self._left > 0 and len(gone) < self.most:
            step = min(step, len(machines) - at, self.most - len(gone))
            if self._taken(machines[at : at + step]):
                at, step = at + step, 2 * step
            elif step == 1:
                at += 1
            else:
                step //= 2

    def exchange(self) -> bool:
        """Give up one machine for several others, or for one with fewer moves; say whether either was found."""
        trials = self._trials
        saved = trials.save()
        before = len(saved.gone), -self._total(saved.gone)
        for given_up in sorted(saved.gone, key=lambda name: (-self._moves[name], name)):
            if self._left <= 0:
                break
            trials.give_back(given_up)
            self.add([name for name in self._moves if name not in saved.gone][:_OTHERS])
            if (len(trials.gone), -self._total(trials.gone)) > before:
                return True
            trials.restore(saved)
        return False

    def _total(self, machines: Iterable[str]) -> int:
        return sum(self._moves[name] for name in machines)
