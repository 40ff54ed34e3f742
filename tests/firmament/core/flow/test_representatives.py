"""Shapes that stand for all keep the balance of demand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.flow.price_estimate.equilibrium import sample_shapes
from firmament.core.flow.problem import PlacementProblem
from tests.support.core import problem
from tests.support.effort import examples
from tests.support.tuning import PRICES


def two_kinds(kind: np.ndarray, machines: int = 300) -> PlacementProblem:
    """Shapes that prefer machines with odd or with even numbers, by their ``kind`` (0 or 1), and differ a little."""
    random = np.random.default_rng(7)
    shapes = len(kind)
    disliked = (np.arange(machines) % 2)[None, :] == kind[:, None]
    cost = 500 * disliked + random.integers(0, 60, (shapes, machines))
    cost += random.integers(0, 5_000, (shapes, 1)) + random.integers(0, 5_000, machines)
    return problem(
        tasks=[1] * shapes,
        requests=[[1]] * shapes,
        free=[[4]] * machines,
        cost=cost.tolist(),
        crowd=[100] * machines,
    )


@settings(max_examples=examples(30))
@given(seed=st.integers(0, 10_000), shapes=st.integers(60, 200), most=st.integers(2, 40))
def test_each_kind_of_demand_is_as_large_as_it_is(seed: int, shapes: int, most: int):
    random = np.random.default_rng(seed)
    kind = random.integers(0, 2, shapes)
    tasks = random.integers(0, 30, shapes).astype(float) + 1
    drawn, weight = sample_shapes(two_kinds(kind), tasks, most, tuning=PRICES)
    assert len(drawn) <= most
    assert (np.diff(drawn) > 0).all()
    assert weight.sum() == pytest.approx(tasks.sum())
    for each in (0, 1):
        assert weight[kind[drawn] == each].sum() == pytest.approx(
            tasks[kind == each].sum(), abs=tasks.sum() / most
        )


def test_kinds_that_come_in_turn_do_not_deceive():
    kind = np.arange(160) % 2  # at even distances, all shapes drawn by number would be of one kind
    drawn, weight = sample_shapes(two_kinds(kind), np.ones(160), 40, tuning=PRICES)
    assert weight[kind[drawn] == 0].sum() == pytest.approx(80, abs=4)


def test_few_shapes_stand_for_themselves():
    tasks = np.array([3.0, 0.0, 5.0])
    drawn, weight = sample_shapes(two_kinds(np.array([0, 1, 0])), tasks, 2, tuning=PRICES)
    assert drawn.tolist() == [0, 2]
    assert weight.tolist() == [3, 5]


def test_shapes_that_all_prefer_the_same_are_drawn_evenly():
    given_cost = [[7] * 10] * 100
    alike = problem(tasks=[1] * 100, requests=[[1]] * 100, free=[[4]] * 10, cost=given_cost, crowd=[100] * 10)
    drawn, weight = sample_shapes(alike, np.ones(100), 10, tuning=PRICES)
    assert drawn.tolist() == list(range(4, 100, 10))
    assert weight.tolist() == [10] * 10
