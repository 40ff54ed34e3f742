"""Computes shortest paths by the Bellman-Ford algorithm, on whole blocks of arcs at once.

Costs may be negative; negative cycles are not allowed. All arcs of a block are relaxed at once, by a few operations
on its arrays. If paths alternate between two kinds of nodes, relaxing two blocks in turn extends them by two arcs in
each sweep.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Int64
from firmament.core.ranks import find_runs, order_of

Lengths: TypeAlias = NDArray[np.signedinteger[Any]]


class ArcBlock:
    """Arcs from ``ends`` to ``others`` (int64[A]), sorted by end, with ``lengths`` (int[A])."""

    def __init__(self, ends: Int64, others: Int64, lengths: Lengths) -> None:
        self._first, _ = find_runs(ends)
        self._nodes, self._others, self._lengths = ends[self._first], others, lengths
        self._through = np.empty(len(others), dtype=lengths.dtype)

    @classmethod
    def sort_by_end(cls, ends: Int64, others: Int64, lengths: Lengths, nodes: int) -> ArcBlock:
        """Return a block of arcs given in any order; ends are below ``nodes``."""
        order = order_of(ends, nodes)
        return cls(ends[order], others[order], lengths[order])

    def relax(self, distance: Lengths, beyond: Lengths) -> bool:
        """Lower each ``distance`` to ``beyond`` at an arc's other end plus the arc's length, if that is less.

        Return whether any distance fell. ``distance`` and ``beyond`` may be the same array.
        """
        if not len(self._first):
            return False
        beyond.take(self._others, out=self._through, mode="clip")
        np.add(self._through, self._lengths, out=self._through)
        before = distance[self._nodes]
        after = np.minimum(before, np.minimum.reduceat(self._through, self._first))
        distance[self._nodes] = after
        return not np.array_equal(before, after)


def shorten(distance: Lengths, blocks: list[ArcBlock], most_sweeps: int) -> bool:
    """Relax all blocks in turn, at most ``most_sweeps`` times; return whether distances have stopped falling.

    ``distance``: int[N], the initial distance of each node; it is changed in place.
    """
    for _ in range(most_sweeps):
        fell = [block.relax(distance, distance) for block in blocks]
        if not any(fell):
            return True
    return False
