"""The shares of a group that the units of one level can be given, as columns where they are regular."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.tree_solver.counts import progression

CELLS = 1 << 21  # of one batch of rows


@dataclass(frozen=True, slots=True)
class Shares:
    """Sets of counts of the units of a level, besides 0.

    A *regular* unit can be given ``least``, ``least + step``, ... up to ``high`` (int64[units], 0: nothing); ``least``
    is a multiple of ``step``. The sets of ``others`` are any (see `counts`). ``must``: bool[units], units that hold
    pods of the group already and cannot be left out; they are never regular.
    """

    least: int
    step: int
    high: Int64
    regular: Bool
    others: Mapping[int, int]
    must: Bool

    def counts(self, unit: int) -> int:
        """The set of a unit."""
        if self.regular[unit]:
            return progression(self.least, int(self.high[unit]), self.step)
        return self.others[unit]

    def highest(self) -> Int64:
        """int64[units]: the largest count of each set, 0 for empty ones."""
        highest = self.high.copy()
        for unit, counts in self.others.items():
            highest[unit] = max(counts.bit_length() - 1, 0)
        return highest


def plain(shares: Shares, first: Int64) -> Bool:
    """bool[parents]: parents whose children are all regular; ``first``: where the children of each begin."""
    strange = np.append(0, np.cumsum(~shares.regular))
    return strange[first[1:]] == strange[first[:-1]]


def batches(first: Int64, parents: Int64) -> Iterator[tuple[Int64, Int64, Bool]]:
    """Rows that are worth one array: (positions in ``parents``, their children int64[R, C], bool[R, C] which exist).

    Parents of similar numbers of children go together, and no array has more than some million cells.
    """
    number = first[parents + 1] - first[parents]
    kind = np.frexp(number.astype(np.float64))[1]
    for each in np.unique(kind):
        alike = np.flatnonzero(kind == each)
        width = int(number[alike].max())
        rows = max(1, CELLS // width)
        for start in range(0, len(alike), rows):
            positions = alike[start : start + rows]
            column = np.arange(width)
            exists = column < number[positions, None]
            children = np.where(exists, first[parents[positions], None] + column, 0)
            yield positions, children, exists


def caps(shares: Shares, children: Int64, exists: Bool) -> Int64:
    """int64[R, C]: what each child can hold at most, in steps; 0 where there is no child or it can hold nothing."""
    return np.where(exists, shares.high[children] // shares.step, 0)
