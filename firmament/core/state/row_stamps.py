"""Which rows of a table have changed since when."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64


class RowStamps:
    """A stamp per row: the time, in a count of its own, when the row last changed.

    Whoever keeps something derived from rows takes a ``mark`` and asks later what has changed ``since``.
    """

    def __init__(self) -> None:
        self._stamp: Int64 = np.zeros(64, dtype=np.int64)
        self._now = 1
        self.count = 0
        """How often something was touched."""

    def touch(self, row: int) -> None:
        """Note that a row has changed, or is new."""
        if row >= len(self._stamp):
            self._stamp = np.concatenate([self._stamp, np.zeros(max(row + 1, len(self._stamp)), np.int64)])
        self._stamp[row] = self._now
        self.count += 1

    def touch_all(self, rows: Int64) -> None:
        """Note that rows have changed that were there before."""
        self._stamp[rows] = self._now
        self.count += 1

    def mark(self) -> int:
        """What has changed up to now; later changes are ``since`` it."""
        self._now += 1
        return self._now - 1

    def since(self, mark: int, count: int) -> Bool:
        """bool[count]: which of the first ``count`` rows have changed since ``mark``."""
        return self._stamp[:count] > mark

    def stamps(self, count: int) -> Int64:
        """int64[count]: the mark before which each row last changed; it has not changed since that or any later one."""
        return self._stamp[:count]
