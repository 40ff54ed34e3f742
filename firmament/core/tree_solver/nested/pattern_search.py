"""Fills bins with items of few kinds: one bin after another gets one of the patterns that it takes.

A pattern says how many items of each kind a bin gets. All bins together may leave over at most what is free minus
what is requested. If a bin may leave little over, few patterns remain. The search tries them depth first, first those
that leave over least. The search remembers which remaining items had no solution from which bin on (compare the
patterns of the cutting stock problem, Gilmore and Gomory 1961). Effort limits the search, and equal input gives equal
results.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cost_models.interface import Bool, Float64, Int64

MOST_PATTERNS = 20_000
"""Most patterns of one bin; if there are more, no search is made."""
MOST_BINS = 400
"""Most bins; if there are more, no search is made."""
PATTERNS_A_STEP = 1_000
"""Number of patterns that are compared for one unit of effort."""
STYLES = ((2.0, 0.0), (0.5, 0.0), (0.5, 0.5), (2.0, 0.5), (1.0, 1.0))
"""For each attempt, the weight of large items, and the random noise, by which patterns are ordered."""
NODES_A_BIN = 12
"""Most search nodes (bins that are filled) of one attempt, per bin."""
FEWEST_NODES = 300
"""Number of search nodes that every attempt may use, however few bins there are."""


@dataclass(slots=True)
class Effort:
    """The effort that searches may still spend; ``left``: about one unit per item or bin that is tried."""

    left: int


Check: TypeAlias = Callable[[int, Int64], tuple[bool, bool]]
"""A function of a bin and a pattern (int64[S]) that returns whether the bin takes it, and whether that is certain."""


@dataclass(frozen=True, slots=True)
class Bins:
    """A packing problem: S kinds of items, to be put into B bins, with K resources."""

    free: Int64
    """int64[K, B], the free amounts of each bin."""
    requests: Int64
    """int64[S, K], the request of an item of each kind."""
    counts: Int64
    """int64[S], number of items of each kind."""
    most: Int64
    """int64[S, B], the most items of a kind that a bin takes by limits other than ``free``."""
    likeness: Sequence[Hashable]
    """For each bin, a value that is equal for bins between which ``check`` makes no difference."""
    apart: Int64
    """int64[S]: kinds with the same number, except -1, exclude each other: a bin takes only one item of them in all."""


@dataclass(frozen=True, slots=True)
class Filling:
    """What ``fill_bins`` found: a pattern for each bin, or nothing.

    ``patterns``: (bin, what it gets: int64[S]) of each bin, None if no solution was found; ``certain``: whether it is
    then certain that none exists.
    """

    patterns: tuple[tuple[int, Int64], ...] | None
    certain: bool


def fill_bins(bins: Bins, effort: Effort, random: np.random.Generator, check: Check | None = None) -> Filling:
    """Return patterns that place all items; ``check`` decides which patterns a bin takes (None: all that fit)."""
    search = _PatternSearch(bins, effort, random, check)
    if not search.is_posed:
        return Filling(None, search.is_hopeless)
    for large, noise in STYLES:
        found = search.run(large, noise)
        if found is not None:
            return Filling(tuple(found), certain=True)
        if search.is_exhausted or effort.left <= 0:
            break
    return Filling(None, search.is_exhausted and search.is_certain)


class _PatternSearch:
    """Searches patterns bin after bin, in a fixed order of bins, and notes remaining items without a solution."""

    def __init__(self, bins: Bins, effort: Effort, random: np.random.Generator, check: Check | None) -> None:
        self._effort, self._random, self._check = effort, random, check
        self._requests, self._counts, self._apart = bins.requests, bins.counts, bins.apart
        most = np.minimum(np.maximum(bins.most, 0), bins.counts[:, None])
        used = np.flatnonzero(most.any(axis=0))
        most = most[:, used]
        self._capacity = np.maximum(bins.free[:, used], 0)
        self._free = np.minimum(self._capacity, bins.requests.T @ most)
        self.is_certain = True
        self.is_exhausted = False
        self._slack = self._free.sum(axis=1) - bins.counts @ bins.requests
        self.is_hopeless = bool((self._slack < 0).any() or (most.sum(axis=1) < bins.counts).any())
        self.is_posed = not self.is_hopeless and len(used) <= MOST_BINS
        if not self.is_posed:
            return
        looks = [
            (self._capacity[:, at].tobytes(), most[:, at].tobytes(), bins.likeness[used[at]])
            for at in range(len(used))
        ]
        first: dict[Hashable, int] = {}
        kind = np.array([first.setdefault(look, at) for at, look in enumerate(looks)], dtype=np.int64)
        size = (self._free / np.maximum(self._free.sum(axis=1, keepdims=True), 1)).sum(axis=0)
        order = np.lexsort((kind, size[kind]))
        self._bin, self._kind = used[order], kind[order].tolist()
        self._most = most
        after = np.cumsum(most[:, order][:, ::-1], axis=1)[:, ::-1]
        self._reach = np.concatenate([after, np.zeros((len(most), 1), dtype=np.int64)], axis=1)
        total = np.maximum(self._free.sum(axis=1), 1)
        self._size = (self._requests / total).max(axis=1, initial=0.0) * max(1, len(used))
        self._patterns: dict[int, tuple[Int64, Int64]] = {}
        for at in first.values():
            listed = self._list_patterns(at)
            if listed is None:
                self.is_posed = False
                return
            self._patterns[at] = listed
        self._failed: set[tuple[int, bytes]] = set()

    def _list_patterns(self, at: int) -> tuple[Int64, Int64] | None:
        """Return the patterns that fit a bin, int64[P, S], and what each leaves over, int64[P, K]; None: too many."""
        pattern = np.zeros((1, len(self._counts)), dtype=np.int64)
        left = self._capacity[:, at][None]
        for kind, request in enumerate(self._requests):
            fit = np.full(len(pattern), self._most[kind, at])
            for column in np.flatnonzero(request).tolist():
                fit = np.minimum(fit, left[:, column] // request[column])
            if self._apart[kind] >= 0:
                before = pattern[:, self._apart == self._apart[kind]].sum(axis=1)
                fit = np.minimum(fit, 1 - before)
            if int(fit.sum()) + len(fit) > 4 * MOST_PATTERNS:
                return None
            rows = np.repeat(np.arange(len(pattern)), fit + 1)
            more = np.arange(len(rows)) - np.repeat(np.cumsum(fit + 1) - (fit + 1), fit + 1)
            pattern, left = pattern[rows], left[rows] - more[:, None] * request
            pattern[:, kind] = more
        waste = left - (self._capacity[:, at] - self._free[:, at])
        waste = np.maximum(waste, 0)
        kept = (waste <= self._slack).all(axis=1)
        if int(kept.sum()) > MOST_PATTERNS:
            return None
        return pattern[kept], waste[kept]

    def run(self, large: float, noise: float) -> list[tuple[int, Int64]] | None:
        """Search once; return the bins and their patterns, or None.

        After None, ``is_exhausted`` says whether all ways were tried.
        """
        nodes = max(FEWEST_NODES, NODES_A_BIN * len(self._bin))
        chosen: list[tuple[int, Int64]] = []
        frames = [
            (self._counts, self._slack, self._iter_patterns(0, self._counts, self._slack, large, noise))
        ]
        while frames:
            left, slack, patterns = frames[-1]
            if not left.any():
                return chosen
            depth = len(frames) - 1
            found = next(patterns, None)
            if found is None:
                self._failed.add((depth, left.tobytes()))
                frames.pop()
                if chosen:
                    chosen.pop()
                continue
            pattern, waste = found
            left, slack = left - pattern, slack - waste
            if (depth + 1, left.tobytes()) in self._failed or (left > self._reach[:, depth + 1]).any():
                continue
            if not self._is_right(depth, pattern):
                continue
            nodes -= 1
            if nodes <= 0 or self._effort.left <= 0:
                return None
            chosen.append((int(self._bin[depth]), pattern))
            frames.append((left, slack, self._iter_patterns(depth + 1, left, slack, large, noise)))
        self.is_exhausted = True
        return None

    def _is_right(self, depth: int, pattern: Int64) -> bool:
        if self._check is None or not pattern.any():
            return True
        right, certain = self._check(int(self._bin[depth]), pattern)
        if not right and not certain:
            self.is_certain = False
        return right

    def _iter_patterns(
        self, depth: int, left: Int64, slack: Int64, large: float, noise: float
    ) -> Iterator[tuple[Int64, Int64]]:
        """Yield the patterns of a bin that can be used now, and what each leaves over, the best patterns first."""
        if depth >= len(self._bin):
            return
        pattern, waste = self._patterns[self._kind[depth]]
        self._effort.left -= 1 + len(pattern) // PATTERNS_A_STEP
        kept = np.all(pattern <= left, axis=1) & np.all(waste <= slack, axis=1)
        pattern, waste = pattern[kept], waste[kept]
        if self._check is None and len(pattern):
            full = self._find_full(self._kind[depth], pattern, left)
            pattern, waste = pattern[full], waste[full]
        score: Float64 = (waste / np.maximum(slack, 1)).sum(axis=1) - large * (pattern @ self._size**2)
        if noise:
            score = score + noise * self._random.random(len(score))
        for row in np.argsort(score, kind="stable").tolist():
            yield pattern[row], waste[row]

    def _find_full(self, at: int, pattern: Int64, left: Int64) -> Bool:
        """Return whether a bin filled by a pattern cannot take another item: bool[P].

        A pattern that leaves a bin open need not be tried, as an item from a later bin could always be added to it.
        """
        over = self._capacity[:, at] - pattern @ self._requests
        full = np.ones(len(pattern), dtype=np.bool_)
        for kind, request in enumerate(self._requests):
            more = (pattern[:, kind] < min(int(left[kind]), int(self._most[kind, at]))) & (
                over >= request
            ).all(axis=1)
            full[more] = False
        return full
