from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.saved_rounds import SavedRoundError
from firmament.saved_rounds.saved_arrays import decode_arrays, encode_arrays
from tests.firmament.saved_rounds.rounds import changed, refusal
from tests.support.histories.problems import SEEDS, placement_problem

PROBLEM = placement_problem(7, 4, 5, joint=True)
PLACED = Assignments(np.array([0, 3]), np.array([4, 0]), np.array([2, 1]))


def assert_same(one: PlacementProblem, other: PlacementProblem) -> None:
    for each in fields(PlacementProblem):
        if each.name not in {"pins", "joint"}:
            left, right = getattr(one, each.name), getattr(other, each.name)
            np.testing.assert_array_equal(left, right, each.name)
            assert getattr(left, "dtype", None) == getattr(right, "dtype", None)
    assert {cls: rows.tolist() for cls, rows in one.pins.items()} == {
        cls: rows.tolist() for cls, rows in other.pins.items()
    }
    assert len(one.joint) == len(other.joint)
    for mine, theirs in zip(one.joint, other.joint, strict=True):
        assert mine.reason == theirs.reason
        for name in ("row_of", "amount", "limit"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))


@given(
    seed=SEEDS, classes=st.integers(1, 5), machines=st.integers(1, 6), joint=st.booleans(), many=st.booleans()
)
def test_a_problem_comes_back_as_it_was(seed, classes, machines, joint, many):
    problem = placement_problem(seed, classes, machines, joint=joint)
    if many:
        problem = replace(problem, multiplicity=np.arange(1, machines + 1))
    placed = Assignments(np.array([0]), np.array([machines - 1]), np.array([3]))
    again, placed_again = decode_arrays(encode_arrays(problem, placed))
    assert_same(problem, again)
    found = (placed_again.cls.tolist(), placed_again.machine.tolist(), placed_again.count.tolist())
    assert found == ([0], [machines - 1], [3])


def test_problems_without_tasks_or_machines_come_back():
    problem = replace(
        PROBLEM,
        counts=np.zeros((0, 4), np.int64),
        priority=np.zeros(0, np.int64),
        shape=np.zeros(0, np.int64),
        requests=np.zeros((0, 2), np.int64),
        feasible=np.zeros((0, 0), np.bool_),
        cost=np.zeros((0, 0), np.int32),
        crowd=np.zeros(0, np.int64),
        free=np.zeros((0, 2), np.int64),
        pins={},
        joint=(),
    )
    again, placed = decode_arrays(encode_arrays(problem, Assignments.empty()))
    assert_same(problem, again)
    assert len(placed.cls) == 0


SAVED = encode_arrays(PROBLEM, PLACED)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "not a readable .npz file"),
        (b"PK\x03\x04 and then nothing", "not a readable .npz file"),
        (SAVED[:-40], "not a readable .npz file"),
        (changed(SAVED, {"cost": np.array([object()], dtype=object)}), "not a readable .npz file"),
        (changed(SAVED, {"crowd": None}), "entry 'crowd' is missing"),
        (changed(SAVED, {"structure": None}), "entry 'structure' is missing"),
        (changed(SAVED, {"structure": np.zeros(1, dtype=np.uint8)}), "Expected `object`, got `int`"),
        (
            changed(SAVED, {"free": PROBLEM.free.astype(float)}),
            "float64 of the size (5, 3) is not int64 - at `$.problem.free`",
        ),
    ],
)
def test_a_file_that_cannot_have_been_saved_is_refused_in_one_line(content: bytes, fault: str):
    with pytest.raises(SavedRoundError) as refused:
        decode_arrays(content)
    assert str(refused.value) == f"problem.npz: {fault}; save the round again"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"cost": PROBLEM.cost[:, :-1]}, "cost has the size (3, 4), not (3, 5)"),
        ({"cost": PROBLEM.cost[0]}, "cost has the size (5,), not 2 dimensions"),
        ({"multiplicity": np.array([1])}, "multiplicity has the size (1,), not (5,)"),
        ({"shape": PROBLEM.shape + 4}, "shape holds numbers out of range"),
        ({"counts": -PROBLEM.counts - 1}, "counts holds numbers out of range"),
        ({"pins": {9: PROBLEM.pins[1]}}, "pins holds numbers out of range"),
        ({"pins": {1: np.array([5])}}, "pins[1] holds numbers out of range"),
        ({"rotation": "1"}, "Expected `int`, got `str` - at `$.problem.rotation`"),
        (
            {"joint": (replace(PROBLEM.joint[0], row_of=np.full(5, 99)),)},
            "joint[0].row_of holds numbers out of range",
        ),
        ({"crowd": None}, "this is no array - at `$.problem.crowd`"),
    ],
)
def test_a_problem_that_cannot_be_is_refused(change: dict[str, Any], fault: str):
    assert refusal(replace(PROBLEM, **change)) == fault


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"machine": np.array([0, 5])}, "placed.machine holds numbers out of range"),
        ({"count": np.array([1])}, "placed.count has the size (1,), not (2,)"),
        ({"count": np.array([1, 0])}, "placed.count holds numbers out of range"),
    ],
)
def test_a_placement_that_cannot_be_is_refused(change: dict[str, Any], fault: str):
    assert refusal(PROBLEM, replace(PLACED, **change)) == fault
