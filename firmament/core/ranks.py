"""Orders, runs and ranks of rows by whole numbers, and which columns are alike.

Orders are the same as a stable sort finds, in a fraction of its time: numpy sorts 16-bit numbers by their digits. Its
stable sort of longer ones is several times slower than its unstable one, which finds the one order that there is if no
two keys are equal: so the row is made part of the key.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Int64

SHORT = 2**16
"""Keys that span less than this are sorted by their digits."""


def order_of(nodes: NDArray[np.integer[Any]], number: int) -> Int64:
    """Return indices that put ``nodes`` (int[A], from 0 to below ``number``) in order; equal ones stay as
    they are.
    """
    return np.argsort(nodes.astype(np.uint16) if number <= SHORT else nodes, kind="stable")


def order_by(keys: Int64) -> Int64:
    """Return int64[N]: rows by ascending key, those of equal keys in their order; the span of keys times N
    fits 64 bits.
    """
    if not len(keys):
        return np.empty(0, dtype=np.int64)
    least = keys.min()
    if keys.max() - least < SHORT:
        return np.argsort((keys - least).astype(np.uint16), kind="stable")
    return np.argsort((keys - least) * len(keys) + np.arange(len(keys)))


def runs(ordered: NDArray[np.integer[Any]]) -> tuple[Int64, Int64]:
    """Return where each run of equal keys begins in ``ordered`` keys, and how long it is; int64[E] each."""
    borders = np.ones(len(ordered) + 1, dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=borders[1:-1])
    found = np.flatnonzero(borders) if len(ordered) else np.zeros(1, dtype=np.int64)
    return found[:-1], found[1:] - found[:-1]


def rank_in_runs(ordered: NDArray[np.integer[Any]]) -> Int64:
    """Return int64[N]: how many equal keys come before each of ``ordered`` ones."""
    return np.arange(len(ordered)) - np.repeat(*runs(ordered))


def rank(keys: Int64) -> Int64:
    """Return int64[N]: how many equal keys come before each; for keys as ``order_by`` takes them."""
    order = order_by(keys)
    found = np.empty(len(keys), dtype=np.int64)
    found[order] = rank_in_runs(keys[order])
    return found


def distinct(keys: Int64) -> tuple[Int64, Int64]:
    """Return the distinct keys, ascending, and how often each occurs; int64[E] each."""
    ordered = np.sort(keys)
    starts, lengths = runs(ordered)
    return ordered[starts], lengths


def group_rows(keys: Int64) -> list[Int64]:
    """Return rows of each distinct key, ascending by key, those of a key in their order; for keys as
    ``order_by`` takes.
    """
    order = order_by(keys)
    starts = runs(keys[order])[0].tolist()
    return [order[begin:end] for begin, end in pairwise([*starts, len(order)])] if len(keys) else []


def places_in(some: Int64, number: int) -> Int64:
    """Return int64[number]: where each row stands among ``some`` (distinct ones); -1 for those that are not
    among them.
    """
    place = np.full(number, -1, dtype=np.int64)
    place[some] = np.arange(len(some))
    return place


def counting(lengths: Int64) -> Int64:
    """Return 0, 1, ... up to each length, one after another."""
    return np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def sum_before_in_runs(values: NDArray[Any], starts: Int64, lengths: Int64) -> NDArray[Any]:
    """Return the sum of the ``values`` that come before each in its run; runs as ``runs`` finds them."""
    before = np.cumsum(values) - values
    before -= np.repeat(before[starts], lengths)
    return before


# --- Columns that are alike: equal in every row of some matrices, told by random sums of each column.
#
# Two columns that differ get equal marks once in 2 ** 126 pairs; that two of so many meet in one half of them is
# noticed.


_ROWS_AT_ONCE = 64


class ColumnMarks:
    """Marks of M columns as rows are added: equal for columns that have been equal in all of them.

    Deterministic: equal rows, added in the same order, give equal marks.
    """

    def __init__(self, columns: int) -> None:
        self._random = np.random.default_rng(2_718_281_828)
        self._marks = np.zeros((columns, 2), dtype=np.int64)

    def add(self, rows: NDArray[np.integer[Any]], at: Int64 | slice = slice(None)) -> None:
        """Tell columns apart by further rows: int[R, M], or those of the columns ``at`` alone; sums wrap around."""
        for begin in range(0, len(rows), _ROWS_AT_ONCE):
            block = rows[begin : begin + _ROWS_AT_ONCE]
            self._mark(block, self._random.integers(1, 2**62, size=(2, len(block)), dtype=np.int64), at)

    def add_each(self, rows: Iterable[NDArray[np.integer[Any]]]) -> None:
        """Tell columns apart by further rows (int[M] each), with the marks that adding one after another gives.

        That is several times as fast for thousands of rows, and holds few of them at a time.
        """
        left = iter(rows)
        while block := list(islice(left, _ROWS_AT_ONCE)):
            factors = self._random.integers(1, 2**62, size=(len(block), 2), dtype=np.int64)
            self._mark(np.stack(block), factors.T)

    def _mark(self, block: NDArray[np.integer[Any]], factors: Int64, at: Int64 | slice = slice(None)) -> None:
        block, factors = block.astype(np.int64, copy=False), np.ascontiguousarray(factors | 1)
        self._marks[at] += np.stack([np.einsum("r,rm->m", factor, block) for factor in factors], axis=1)

    def count(self) -> int:
        """Return how many columns differ so far, at least."""
        ordered = np.sort(self._marks[:, 0])
        return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + min(1, len(ordered))

    def groups(self) -> tuple[Int64, Int64, Int64] | None:
        """Return int64[M], the group of each column, and int64[G] each: a first column of the groups, and their sizes.

        None: columns that differ share half a mark.
        """
        _, first, group, size = np.unique(
            self._marks[:, 0], return_index=True, return_inverse=True, return_counts=True
        )
        if not np.array_equal(self._marks[first[group], 1], self._marks[:, 1]):
            return None
        return group, first, size.astype(np.int64)
