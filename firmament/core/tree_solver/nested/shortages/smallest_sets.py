"""Finds the smallest set of constraints without which a search succeeds.

Dropping more constraints never makes a search fail. Every set of constraints without which the search succeeds thus
contains each constraint that alone makes it fail. Sets of one size are tried before larger ones; of sets that are
alike one is tried. If this search takes too many tests, the result is a set of which no member can be left out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations, islice

LISTED = 1_000
"""At most this many sets of one size are considered; most of them are equal to others in kind and are not tested."""


class _TooManyTestsError(Exception):
    """Signals that no test is left."""


@dataclass(frozen=True, slots=True)
class SmallestSet:
    """Constraints (numbers, ascending) without which a search succeeds.

    ``alone``: those constraints of the set that make the search fail even if they are the only ones.
    """

    members: tuple[int, ...]
    alone: frozenset[int]


@dataclass(slots=True)
class _Trials:
    """Tests sets of constraints, each kind of set once, and keeps the smallest set that helps."""

    helps: Callable[[Sequence[int]], bool]
    describe: Callable[[Sequence[int]], Hashable]
    left: int
    best: tuple[int, ...]
    known: dict[Hashable, bool] = field(default_factory=dict)

    def test(self, members: Sequence[int]) -> bool:
        """Return whether the search succeeds without ``members``; raises `_TooManyTestsError` if no test is left."""
        look = self.describe(members)
        if look not in self.known:
            if self.left <= 0:
                raise _TooManyTestsError
            self.left -= 1
            self.known[look] = self.helps(members)
        if self.known[look] and len(members) < len(self.best):
            self.best = tuple(sorted(members))
        return self.known[look]


def find_smallest_set(
    count: int,
    helps: Callable[[Sequence[int]], bool],
    describe: Callable[[Sequence[int]], Hashable],
    tests: int,
    likely: Sequence[int] = (),
) -> SmallestSet:
    """Return the smallest set, among ``count`` constraints, without which a search succeeds.

    The search must fail with all constraints, and succeed without any. ``helps``: returns whether the search succeeds
    without some constraints; ``describe``: returns a key that is equal only for sets that are alike; ``tests``: how
    often ``helps`` may be called, and as often again to leave constraints out of a set one by one; ``likely``: a set
    that is tried first.
    """
    every = tuple(range(count))
    trials = _Trials(helps, describe, tests, every)
    trials.known |= {describe(()): False, describe(every): True}
    alone: set[int] = set()
    try:
        if likely:
            trials.test(likely)
        for each in every:
            if not trials.test([other for other in every if other != each]):
                alone.add(each)
        return SmallestSet(_find_by_size(trials, count, alone), frozenset(alone))
    except _TooManyTestsError:
        trials.left = tests
    with suppress(_TooManyTestsError):
        _leave_out(trials)
    return SmallestSet(trials.best, frozenset(alone & {*trials.best}))


def _find_by_size(trials: _Trials, count: int, alone: set[int]) -> tuple[int, ...]:
    """Return the first set that helps, in order of size; every set contains ``alone``."""
    others = [each for each in range(count) if each not in alone]
    for more in range(0 if alone else 1, len(others)):
        sets = combinations(others, more)
        for found in islice(sets, LISTED):
            members = sorted((*alone, *found))
            if trials.test(members):
                return tuple(members)
        if next(sets, None) is not None:
            raise _TooManyTestsError
    return tuple(range(count))


def _leave_out(trials: _Trials) -> None:
    """Make the best set smaller until none of its members can be left out."""
    kept: list[int] = []
    left = [*trials.best]
    while left:
        # Find the fewest first members that help together with those that must stay: the last of them must stay, too.
        low, high = 0, len(left)
        while low < high:
            middle = (low + high) // 2
            if trials.test(sorted((*kept, *left[:middle]))):
                high = middle
            else:
                low = middle + 1
        if not low:
            return
        kept.append(left[low - 1])
        left = left[: low - 1]
