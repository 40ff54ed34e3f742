"""What has changed: where waiting tasks may fit that did not before, and which rows of a table since when."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64

_ROWS = 64


class DirtySet:
    """Rows of machines on which something may fit that did not before; ``everywhere``: on all of them.

    ``touched``: rows of the classes of which tasks came to a machine or left one, other than by a round's decision;
    ``domains_changed``: machines, or namespaces, may have come to count otherwise for rules between tasks.
    """

    def __init__(self) -> None:
        self._marked: Bool = np.zeros(_ROWS, dtype=np.bool_)
        self.everywhere = False
        self.domains_changed = False
        self.touched: set[int] = set()

    def machine(self, row: int) -> None:
        """Mark one machine."""
        self._fit(row)
        self._marked[row] = True

    def machines(self, rows: Int64) -> None:
        """Mark several machines."""
        self._fit(int(rows.max(initial=0)))
        self._marked[rows] = True

    def rows(self) -> Int64:
        """Rows of the marked machines, ascending; those of single machines, also if it is ``everywhere``."""
        return np.flatnonzero(self._marked)

    @property
    def any_machine(self) -> bool:
        """Whether something may fit anywhere that did not before."""
        return self.everywhere or bool(self._marked.any())

    def machine_removed(self, row: int, moved: int) -> None:
        """The machine in ``row`` is gone, and the one in row ``moved`` has taken its place; -1: none has."""
        self._fit(max(row, moved))
        self._marked[row] = moved >= 0 and self._marked[moved]
        if moved >= 0:
            self._marked[moved] = False

    def clear(self) -> None:
        """Forget all marks: waiting tasks have been held against them."""
        self._marked[:] = False
        self.touched.clear()
        self.everywhere = self.domains_changed = False

    def _fit(self, row: int) -> None:
        if row >= len(self._marked):
            more = np.zeros(max(row + 1 - len(self._marked), len(self._marked)), dtype=np.bool_)
            self._marked = np.concatenate([self._marked, more])


class RowStamps:
    """A stamp per row: the time, in a count of its own, when the row last changed.

    Whoever keeps something derived from rows takes a ``mark`` and asks later what has changed ``since``.
    """

    def __init__(self) -> None:
        self._stamp: Int64 = np.zeros(_ROWS, dtype=np.int64)
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
