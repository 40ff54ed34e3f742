"""Sweeps find shortest paths, whatever the order of arcs and the number of blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.flow.shortest_paths import ArcBlock, Lengths, shorten
from tests.support.effort import examples

NODES = 6
FAR = 2**20
node = st.integers(0, NODES - 1)
arcs = st.lists(st.tuples(node, node, st.integers(0, 30)), max_size=20)


def one_by_one(start: list[int], given_arcs: list[tuple[int, int, int]]) -> list[int]:
    """Relax single arcs for as many turns as paths may have nodes."""
    distance = list(start)
    for _ in range(NODES):
        for end, other, length in given_arcs:
            distance[end] = min(distance[end], distance[other] + length)
    return distance


@settings(max_examples=examples(120))
@given(
    arcs, st.lists(st.integers(-9, FAR), min_size=NODES, max_size=NODES), st.integers(0, NODES), st.booleans()
)
def test_distances_are_those_of_arcs_relaxed_one_by_one(
    given_arcs: list[tuple[int, int, int]], start: list[int], cut: int, narrow: bool
):
    potential = np.array([3, -4, 0, 7, -2, 5])  # lengths of either sign, and no cycle of negative length
    moved = [
        (end, other, length + int(potential[end] - potential[other])) for end, other, length in given_arcs
    ]
    dtype: type[np.signedinteger[Any]] = np.int32 if narrow else np.int64
    blocks = []
    for part in (
        [each for each in moved if each[0] < cut],
        [each for each in moved if each[0] >= cut],
    ):
        end, other, length = np.array(part, dtype=np.int64).reshape(-1, 3).T
        blocks.append(ArcBlock.sort_by_end(end, other, length.astype(dtype), NODES))
    distance: Lengths = np.array(start, dtype=dtype)
    assert shorten(distance, blocks, 3 * NODES)
    assert distance.tolist() == one_by_one(start, moved)


def test_a_cycle_of_negative_length_does_not_settle():
    end, other = np.array([0, 1]), np.array([1, 0])
    distance = np.zeros(2, dtype=np.int64)
    assert not shorten(distance, [ArcBlock(end, other, np.array([-1, -1]))], 50)


@pytest.mark.parametrize("nodes", [0, 3])
def test_no_arcs(nodes: int):
    none = np.empty(0, dtype=np.int64)
    distance = np.arange(nodes)
    assert shorten(distance, [ArcBlock(none, none, none)], 1)
    assert distance.tolist() == list(range(nodes))
