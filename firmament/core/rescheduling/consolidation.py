"""Searches for machines that can be emptied together with few moves; each step is tried with rounds.

Machines are tried in order of moves, many at a time while that succeeds, so that thousands of machines take few
tries. A failed try says which machines made it fail: if these are few, the remaining machines are tried without them.
A machine that cannot be emptied is skipped, and the search continues with the next ones. Afterwards the search
exchanges machines for others that take fewer moves, or for several others.
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
"""Number of unsuccessful exchanges in a row after which no more are tried."""

_FEW = 2
"""If at most one in this many of the tried machines cannot be emptied, the other machines are tried at once."""

_OTHERS = 24
"""Number of machines considered as replacements for one machine: those with the fewest moves."""


def ignore_progress(_: int) -> None:
    """Ignore the number of tries made."""


@dataclass(frozen=True, slots=True)
class Consolidation:
    """Machines that can be emptied together by ``moves`` (uid -> machine); no choice can empty more than ``most``.

    ``kept``: uid -> machine, for waiting tasks that get a machine that the moves empty; such a machine is not among
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
    """Return machines that can be emptied together: as many, and with as few moves, as a search finds.

    At most ``tries`` tries are made, and the machines have at most ``budget`` tasks. ``waiting`` tasks come first: a
    machine that they would take once it is empty is not in the result. ``note`` is called with the number of tries
    made.
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
        """Try to empty more machines in addition to those emptied already; return whether that succeeded."""
        if (
            self._budget < UNLIMITED
            and self._total(self._trials.emptied) + self._total(machines) > self._budget
        ):
            return False
        self._left -= 1
        self._note(self._tries - self._left)
        return self._trials.empty(machines)

    def add(self, machines: Sequence[str]) -> None:
        """Empty as many machines as possible in this order: twice as many after a success, half after a failure.

        If at most half of the machines cannot be emptied, the other machines are tried at once, and those one by one
        at the end. A machine that cannot be emptied alone is skipped.
        """
        self._add(machines, late := list[str]())
        self._add(late, None)

    def _add(self, machines: Sequence[str], late: list[str] | None) -> None:
        """Do the work of ``add``; machines put off to the end are appended to ``late``, None if none may be put off."""
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
        """Replace one machine by several others, or by one with fewer moves; return whether that succeeded."""
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
        """Return machines worth trying instead of ``given_up``; if ``full``, only those with fewer moves."""
        return [name for name in others if self._moves[name] < self._moves[given_up]] if full else others

    def _total(self, machines: Iterable[str]) -> int:
        return sum(self._moves[name] for name in machines)
