"""Sums of amounts that stay in 64 bits whatever is added: they saturate instead of wrapping around."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.resources.columns import widened

CEILING = 2**62
"""What a sum shows that is larger. With a single amount added or subtracted it still fits 64 bits."""


class SaturatingSums:
    """Sums by row and column. ``cells``: int64[rows, K]; one that is beyond `CEILING` shows that.

    The true sum is known nevertheless: once enough has been taken away, the cell shows it again.
    """

    def __init__(self, rows: int, columns: int) -> None:
        self.cells: Int64 = np.zeros((rows, columns), dtype=np.int64)
        self._beyond: dict[tuple[int, int], int] = {}

    @property
    def beyond(self) -> Int64:
        """Rows of which some cell does not show the true sum, ascending."""
        return np.array(sorted({row for row, _ in self._beyond}), dtype=np.int64)

    def add(self, row: int, amounts: Int64, count: int) -> None:
        """Add (``count`` 1) or take away (-1) amounts, int64[<= K], of 0 to `MAX_QUANTITY` each."""
        cells = self.cells[row, : len(amounts)]
        if self._beyond:
            self._add_exactly(row, 0, amounts, count)
        elif count == 1:
            cells += amounts
            if cells.max(initial=0) > CEILING:
                self._settle()
        else:
            cells -= amounts

    def add_all(self, rows: Int64, amounts: Int64, first: int = 0) -> None:
        """Add a row of ``amounts`` (int64[N, <= K]) to each of ``rows`` (int64[N]), in columns from ``first`` on."""
        if self._beyond or int(amounts.max(initial=0)) * len(rows) > CEILING // 2:
            for row, each in zip(rows.tolist(), amounts, strict=True):
                self._add_exactly(row, first, each, 1)
            return
        for column in range(amounts.shape[1]):  # several times faster than all at once
            np.add.at(self.cells[:, first + column], rows, amounts[:, column])
        if self.cells.max(initial=0) > CEILING:
            self._settle()

    def without(self, row: int, amounts: Int64) -> Int64:
        """int64[K]: what a row would show with ``amounts`` (int64[<= K]) taken away; nothing changes."""
        left = self.cells[row].copy()
        for column, amount in enumerate(amounts.tolist()):
            left[column] = min(self._beyond.get((row, column), int(left[column])) - amount, CEILING)
        return left

    def clear(self, row: int) -> None:
        """Let a row sum up to nothing."""
        self.cells[row] = 0
        self._beyond = {cell: total for cell, total in self._beyond.items() if cell[0] != row}

    def move(self, source: int, target: int) -> None:
        """Let a row take the place of another; it leaves nothing behind."""
        self.clear(target)
        self.cells[target] = self.cells[source]
        for (row, column), total in list(self._beyond.items()):
            if row == source:
                self._beyond[target, column] = total
        self.clear(source)

    def fit(self, rows: int, columns: int) -> None:
        """Make room."""
        self.cells = widened(self.cells, rows, columns)

    def keep_columns(self, kept: Int64) -> None:
        """Columns have been taken back: ``kept`` says where those that stay have been."""
        self.cells = widened(self.cells, 0, int(kept.max()) + 1).take(kept, axis=1)
        place = {column: index for index, column in enumerate(kept.tolist())}
        self._beyond = {
            (row, place[column]): total for (row, column), total in self._beyond.items() if column in place
        }

    def _add_exactly(self, row: int, first: int, amounts: Int64, count: int) -> None:
        """The same for one row, in integers without bounds."""
        for column, amount in enumerate(amounts.tolist(), first):
            if amount:
                total = self._beyond.pop((row, column), int(self.cells[row, column])) + amount * count
                self.cells[row, column] = min(total, CEILING)
                if total > CEILING:
                    self._beyond[row, column] = total

    def _settle(self) -> None:
        """Bring cells down that exceed the ceiling, by no more than what was added at once."""
        for row, column in zip(*np.nonzero(self.cells > CEILING), strict=True):
            self._beyond[int(row), int(column)] = int(self.cells[row, column])
            self.cells[row, column] = CEILING
