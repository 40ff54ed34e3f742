"""Searches for machines that can be emptied together with few moves; each step is tried.

Machines are taken in order of moves, many at a time while that works, so that thousands take few tries. A try says
which machines it fails by: if these are few, the others are taken without them. One that does not fit is passed over,
and the search goes on behind it: it is no search of prefixes. Afterwards machines are exchanged for others that take
fewer moves, or for several.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from firmament.core.events import TasksSubmitted
from firmament.core.rescheduling.trials import Trials

UNLIMITED = 2**62
_IN_VAIN = 100
"""Tries of exchanges in a row that find nothing better, after which no more are made."""

_FEW = 4
"""If at most one machine of so many does not fit, the others are tried at once."""

_OTHERS = 24
"""Machines that are looked at in place of one: those with the fewest moves."""


def ignore_progress(_: int) -> None:
    """Take notice of nothing."""


@dataclass(frozen=True, slots=True)
class Consolidation:
    """``machines`` can be emptied together by ``moves``: uid -> machine. No choice can empty more than ``most``.

    ``kept``: uid -> machine, for tasks that wait and get a machine that is empty after the moves, too. It is none of
    ``machines``.
    """

    machines: tuple[str, ...]
    moves: Mapping[str, str]
    most: int
    kept: Mapping[str, str] = field(default_factory=dict)


def consolidate(
    trials: Trials,
    candidates: Iterable[str],
    *,
    tries: int,
    budget: int = UNLIMITED,
    waiting: Sequence[TasksSubmitted] = (),
    note: Callable[[int], None] = ignore_progress,
) -> Consolidation:
    """Return machines that can be emptied together: as many as are found, with as few moves as are found.

    At most so many ``tries`` are made, and the tasks of the machines are at most ``budget``. Tasks that are ``waiting``
    come first: what they would take once it is empty is not among the machines. ``note`` is told how many tries have
    been made.
    """
    moves = {name: trials.moves(name) for name in candidates}
    ordered = sorted(moves, key=lambda name: (moves[name], name))
    search = _EmptyingSearch(trials, {name: moves[name] for name in ordered}, tries, budget, note)
    search.add(ordered)
    while search.exchange():
        pass
    kept = trials.keep_for(waiting)
    return Consolidation(tuple(trials.emptied), dict(trials.moved), search.most, kept)


class _EmptyingSearch:
    def __init__(
        self, trials: Trials, moves: Mapping[str, int], tries: int, budget: int, note: Callable[[int], None]
    ) -> None:
        self._trials, self._moves, self._left, self._budget = trials, moves, tries, budget
        self._tries, self._note = tries, note
        self.most = trials.most_emptied(moves.keys())

    def _take_machines(self, machines: Sequence[str]) -> bool:
        """Try more machines, and take them if they fit."""
        if self._left <= 0 or self._total(self._trials.emptied) + self._total(machines) > self._budget:
            return False
        self._left -= 1
        self._note(self._tries - self._left)
        return self._trials.empty(machines)

    def add(self, machines: Sequence[str]) -> None:
        """Add as many as fit, in this order: twice as many after each that fits, half as many after one that does not.

        If only few of many do not fit, the others are tried at once, and those few by themselves in the end. The search
        goes on behind what does not fit by itself.
        """
        self._add(machines, late := list[str]())
        self._add(late, None)

    def _add(self, machines: Sequence[str], late: list[str] | None) -> None:
        """Do that; ``late`` gets the machines that are put off to the end, None if none are any more."""
        emptied = self._trials.emptied
        left, step = deque(machines), 1
        while left and self._left > 0 and len(emptied) < self.most:
            step = min(step, len(left), self.most - len(emptied))
            tried = list(islice(left, step))
            if self._take_machines(tried):
                for _ in tried:
                    left.popleft()
                step *= 2
            elif step == 1:
                left.popleft()
            elif late is not None and 0 < len(stuck := self._trials.stuck) <= step // _FEW:
                late += [name for name in tried if name in stuck]
                left = deque(name for name in left if name not in stuck)
                step -= len(stuck)
            else:
                step //= 2

    def exchange(self) -> bool:
        """Give up one machine for several others, or for one with fewer moves; say whether either was found."""
        trials = self._trials
        saved = trials.save()
        before = len(saved.emptied), -self._total(saved.emptied)
        emptied = frozenset(saved.emptied)
        least = max(0, self._left - _IN_VAIN)
        others = [name for name in self._moves if name not in emptied][:_OTHERS]
        for given_up in sorted(emptied, key=lambda name: (-self._moves[name], name)):
            useful = self._in_place_of(given_up, others, full=len(emptied) >= self.most)
            if self._left <= least or not useful:
                break
            trials.give_back(given_up)
            self.add(useful)
            if (len(trials.emptied), -self._total(trials.emptied)) > before:
                return True
            trials.restore(saved)
        return False

    def _in_place_of(self, given_up: str, others: Sequence[str], *, full: bool) -> Sequence[str]:
        """Return the machines that are worth a try: where no more can be emptied, those with fewer moves."""
        return [name for name in others if self._moves[name] < self._moves[given_up]] if full else others

    def _total(self, machines: Iterable[str]) -> int:
        return sum(self._moves[name] for name in machines)
