"""Finds machines that are alike: columns of some matrices that are equal in every row, by random sums of each column.

Two columns that differ get equal marks once in 2 ** 126 pairs; that two of so many meet in one half of them is noticed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Int64

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
            factors = self._random.integers(1, 2**62, size=(2, len(block)), dtype=np.int64) | 1
            self._marks[at] += np.stack([(factor[:, None] * block).sum(axis=0) for factor in factors], axis=1)

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
