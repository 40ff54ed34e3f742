"""Losses that models remember: those that they would compute anew, whatever has changed."""

from __future__ import annotations

import pickle
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.devices.gpu_fragmentation import GpuFragmentation
from cost_models.devices.gpu_prices import GpuPrices
from cost_models.devices.known_losses import KnownLosses
from cost_models.devices.usable_shares import Room
from cost_models.interface import Float64, Int64, ShapeBatch
from tests.cost_models.devices.oracle import Node, Pod
from tests.cost_models.devices.test_fragmentation import NODES, PODS, show_nodes, show_pods
from tests.support.effort import examples

ROUNDS = st.lists(
    st.tuples(
        st.lists(NODES, min_size=2, max_size=4),
        st.lists(PODS, min_size=1, max_size=4),
        st.lists(st.tuples(PODS, st.integers(1, 3)), min_size=1, max_size=2),
    ),
    min_size=2,
    max_size=4,
)


@settings(max_examples=examples(80))
@given(ROUNDS, st.booleans(), st.booleans())
def test_a_model_that_remembers_answers_as_a_new_one(
    rounds: list[tuple[list[Node], list[Pod], list[tuple[Pod, int]]]], same_usual: bool, same_nodes: bool
):
    known = GpuPrices(), GpuFragmentation()
    first = rounds[0]
    for nodes, pods, usual in rounds:
        # The first node of each round is that of the first round; all are, or usual tasks are, in half of the cases.
        columns = show_nodes(first[0] if same_nodes else [first[0][0], *nodes[1:]])
        mixed = first[2] if same_usual else usual
        typical = show_pods([pod for pod, _ in mixed], [times for _, times in mixed])
        asked = show_pods([*pods, *first[1]], [1] * (len(pods) + len(first[1])), typical)
        for model in known:
            assert np.array_equal(model.assess(columns, asked).raw, type(model)().assess(columns, asked).raw)


class CountingJudge:
    """Says that room is worth its free shares, and counts the machines that it has judged."""

    def __init__(self) -> None:
        self.judged: list[int] = []

    def judge(self, room: Room, rows: Int64) -> Float64:
        self.judged += rows.tolist()
        worth: Float64 = room.shares.sum(axis=1)
        return worth

    def find_basis(self) -> tuple[bytes, tuple[Any, ...]]:
        return b"", ()


def show_room(*free: float) -> Room:
    """Machines with one device each, of which so much is free."""
    size = len(free)
    return Room(np.zeros((size, 1), dtype=np.int64), np.zeros(size, dtype=np.int64), np.array(free)[:, None])


def test_only_changed_machines_and_new_tasks_are_asked_about():
    judge, known, asked = CountingJudge(), KnownLosses(), []

    def lose(rows: Int64, before: Float64) -> Float64:
        asked.append(rows.tolist())
        return before / 2

    def find(room: Room, *tasks: bytes) -> list[list[float]]:
        judge.judged.clear()
        asked.clear()
        return known.find(judge, room, tasks, [lose] * len(tasks)).tolist()

    assert find(show_room(1, 0.5), b"a") == [[0.5, 0.25]]
    assert (judge.judged, asked) == ([0, 1], [[0, 1]])
    assert find(show_room(1, 0.5), b"a") == [[0.5, 0.25]]
    assert (judge.judged, asked) == ([], [])
    assert find(show_room(1, 0.25), b"b") == [[0.5, 0.125]]
    assert (judge.judged, asked) == ([1], [[0, 1]])
    assert find(show_room(1, 0.25), b"a", b"b") == [[0.5, 0.125]] * 2
    assert (judge.judged, asked) == ([], [[1]])
    assert find(show_room(1, 0.25, 1), b"a") == [[0.5, 0.125, 0.5]]
    assert (judge.judged, asked) == ([0, 1, 2], [[0, 1, 2]])


@pytest.mark.parametrize(("most", "again"), [(4, []), (3, [[0, 1]])])
def test_tasks_asked_about_long_ago_are_forgotten(most: int, again: list[list[int]]):
    judge, known, asked = CountingJudge(), KnownLosses(most), []

    def lose(rows: Int64, before: Float64) -> Float64:
        asked.append(rows.tolist())
        return before

    for task in (b"a", b"b", b"b"):
        known.find(judge, show_room(1, 1), [task], [lose])
    asked.clear()
    known.find(judge, show_room(1, 1), [b"a"], [lose])
    assert asked == again


def test_a_copy_of_a_model_computes_its_losses_anew():
    model = GpuPrices()
    columns = show_nodes([Node(8, (1000, 300))])
    asked: ShapeBatch = show_pods([Pod(1, 1, 300)], [1], show_pods([Pod(1, 1, 300)], [5]))
    found = model.assess(columns, asked).raw
    for copied in (deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(copied.assess(columns, replace(asked)).raw, found)
