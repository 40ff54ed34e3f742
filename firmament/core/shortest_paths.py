"""Shortest paths by Bellman-Ford over whole blocks of arcs: costs may be negative, cycles of negative cost may not be.

All arcs of a block are relaxed at once, which takes a few passes over its arrays. Where paths alternate between two
kinds of nodes, two blocks that are relaxed in turn take two steps of them in each sweep.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Int64
from firmament.core.ranks import order_of, runs

Lengths: TypeAlias = NDArray[np.signedinteger[Any]]


class ArcBlock:
    """Arcs from ``ends`` to ``others`` (int64[A]), sorted by end, of some ``lengths`` (int[A]): a step of paths."""

    def __init__(self, ends: Int64, others: Int64, lengths: Lengths) -> None:
        self._first, _ = runs(ends)
        self._nodes, self._others, self._lengths = ends[self._first], others, lengths
        self._through = np.empty(len(others), dtype=lengths.dtype)

    @classmethod
    def sort_by_end(cls, ends: Int64, others: Int64, lengths: Lengths, nodes: int) -> ArcBlock:
        """Return the same of arcs in any order; ends are below ``nodes``."""
        order = order_of(ends, nodes)
        return cls(ends[order], others[order], lengths[order])

    def relax(self, distance: Lengths, beyond: Lengths) -> bool:
        """Return whether any ``distance`` became shorter, each by the shortest way over one arc and ``beyond`` of its
        other end.

        The two may be one array.
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
    """Return whether nothing becomes shorter any more once blocks have been relaxed in turn, ``most_sweeps`` times at
    most.

    ``distance``: int[N], of each node to begin with; written to.
    """
    for _ in range(most_sweeps):
        fell = [block.relax(distance, distance) for block in blocks]
        if not any(fell):
            return True
    return False
