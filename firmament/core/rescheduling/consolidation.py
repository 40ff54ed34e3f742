"""Which machines could be emptied, all of them together, with few moves: a search whose every step is tried.

Machines are taken in order of moves, many at a time while that works, so that thousands take few tries. One that does
not fit is passed over, and the search goes on behind it: it is no search of prefixes. Afterwards machines are exchanged
for others that take fewer moves, or for several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Candidate(NamedTuple):
    """A machine that may be emptied, and how many tasks would have to move."""

    machine: str
    moves: int


UNLIMITED = 2**62

Try = Callable[[Sequence[str]], Mapping[str, str] | None]
"""Where the tasks of machines would go if these were taken away together; None if not all have a place."""


@dataclass(frozen=True, slots=True)
class Consolidation:
    """``machines`` can be emptied together by ``moves``: uid -> machine. No choice can empty more than ``most``."""

    machines: tuple[str, ...]
    moves: Mapping[str, str]
    most: int

    @property
    def optimal(self) -> bool:
        """Whether no other choice empties more."""
        return len(self.machines) >= self.most


def consolidate(
    candidates: Iterable[Candidate], attempt: Try, most: int, tries: int, budget: int = UNLIMITED
) -> Consolidation:
    """Return machines that can be emptied together: as many as are found, with as few moves as are found.

    ``most``: more cannot be. ``attempt`` is called at most ``tries`` times. ``budget``: of moves.
    """
    ordered = sorted(candidates, key=lambda each: (each.moves, each.machine))
    search = _Search({each.machine: each.moves for each in ordered}, attempt, most, tries, budget)
    search.add([each.machine for each in ordered])
    search.exchange()
    return Consolidation(tuple(search.chosen), search.found, most)


class _Search:
    def __init__(self, moves: Mapping[str, int], attempt: Try, most: int, tries: int, budget: int) -> None:
        self._moves, self._attempt, self._most, self._left, self._budget = moves, attempt, most, tries, budget
        self.chosen: list[str] = []
        self.found: Mapping[str, str] = {}

    def _fits(self, machines: Sequence[str]) -> bool:
        """Try machines together, and take them if they fit."""
        if self._left <= 0 or len(machines) > self._most or self._total(machines) > self._budget:
            return False
        self._left -= 1
        found = self._attempt(machines)
        if found is None:
            return False
        self.chosen, self.found = list(machines), found
        return True

    def add(self, machines: Sequence[str]) -> None:
        """Add as many as fit, in this order: twice as many after each that fits, half as many after one that does not.

        The search goes on behind what does not fit by itself.
        """
        at, step = 0, 1
        while at < len(machines) and self._left > 0 and len(self.chosen) < self._most:
            step = min(step, len(machines) - at, self._most - len(self.chosen))
            if self._fits([*self.chosen, *machines[at : at + step]]):
                at, step = at + step, 2 * step
            elif step == 1:
                at += 1
            else:
                step //= 2

    def exchange(self) -> None:
        """Give up one machine for several others, or for one with fewer moves, until neither is found any more."""
        while self._exchanged():
            pass

    def _exchanged(self) -> bool:
        before = self.chosen, self.found
        for given_up in sorted(self.chosen, key=lambda each: (-self._moves[each], each)):
            rest = [each for each in before[0] if each != given_up]
            others = [each for each in self._moves if each not in before[0]]
            self.chosen, self.found = rest, before[1]
            self.add(others)
            if self._better(before[0]):
                return True
            self.chosen, self.found = before
            if self._left <= 0:
                return False
        return False

    def _better(self, than: Sequence[str]) -> bool:
        return (len(self.chosen), -self._total(self.chosen)) > (len(than), -self._total(than))

    def _total(self, machines: Sequence[str]) -> int:
        return sum(self._moves[each] for each in machines)
