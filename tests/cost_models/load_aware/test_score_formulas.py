"""Scores of machines by their use, against the formula written out for one machine and one task."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cost_models.load_aware.arguments import Strategy
from cost_models.load_aware.score_formulas import (
    UsedScores,
    Weights,
    compute_used_growth,
    packing_score,
    percent_per_unit,
    variation_score,
)

RESOURCES = ("a", "b", "c")
OFFERED = st.one_of(st.integers(0, 50), st.integers(0, 10**6), st.integers(2**44, 2**50))
WEIGHT = st.one_of(st.integers(0, 2), st.integers(100, 200))


def plain_score(
    offered: list[int], use: list[int], amounts: list[int], weights: list[int], worst: int, *, most: bool
) -> int:
    singles = []
    for there, used, amount in zip(offered, use, amounts, strict=True):
        total = used + amount
        counted = total if most else there - total
        singles.append(0 if there == 0 or total > there else counted * 100 // there)
    # The worst of those that have a weight, or of all as soon as the worst counts.
    weighted = sum(weight * single for weight, single in zip(weights, singles, strict=True))
    return (weighted + worst * min(singles)) // (sum(weights) + worst)


@given(st.data())
def test_scores_are_those_of_the_formula(data: st.DataObject):
    def amounts(rows: int) -> list[list[int]]:
        row = st.tuples(OFFERED, OFFERED, OFFERED)
        return [list(data.draw(row)) for _ in range(rows)]

    offered, most = amounts(4), data.draw(st.booleans())
    use = [[data.draw(st.integers(0, max(1, there))) for there in row] for row in offered]
    wanted = [[value // 4 for value in row] for row in amounts(3)] + [[0, 0, 1]]
    weights = [data.draw(WEIGHT) for _ in RESOURCES]
    worst = data.draw(st.integers(0 if any(weights) else 1, 300))
    scores = UsedScores(
        np.array(use).T,
        np.array(offered).T,
        Weights(np.array(weights, dtype=np.int64), worst),
        most=most,
    )
    found = scores.compute(np.array(wanted))
    assert found.dtype == np.int8
    assert found.tolist() == [
        [
            plain_score(there, used, asked, weights, worst, most=most)
            for there, used in zip(offered, use, strict=True)
        ]
        for asked in wanted
    ]


def test_three_resources_of_weight_one_add_up_to_more_than_a_byte_holds():
    empty = np.zeros((3, 1), dtype=np.int64)
    scores = UsedScores(empty, np.full((3, 1), 1_000), Weights(np.ones(3, dtype=np.int64), 0), most=False)
    assert scores.compute(np.array([[10, 20, 30]])).tolist() == [[98]]


@pytest.mark.parametrize(
    ("resources", "worst", "growth"),
    [
        ([1, 1], 0, [(10 + 20) / 2, (50 + 5) / 2]),
        ([3, 1], 0, [(3 * 10 + 20) / 4, (3 * 50 + 5) / 4]),
        ([0, 0], 2, [20.0, 50.0]),  # only the resource of which it takes the larger share
        ([1, 1], 2, [(10 + 20 + 2 * 20) / 4, (50 + 5 + 2 * 50) / 4]),
        ([0, 0], 0, [0.0, 0.0]),
    ],
)
def test_the_score_of_used_resources_falls_by_the_weighted_share_of_a_task(
    resources: list[int], worst: int, growth: list[float]
):
    # Of the first machine it takes 10 % and 20 %, of the second 50 % and 5 %.
    per_unit = percent_per_unit(np.array([[1000, 200], [500, 2000]]))
    found = compute_used_growth(np.array([100.0, 100.0]), per_unit, Weights(np.array(resources), worst))
    assert found == pytest.approx(growth)


def test_a_task_takes_no_more_than_all_of_a_machine_and_nothing_where_nothing_is_offered():
    per_unit = percent_per_unit(np.array([[50, 0]]))
    assert per_unit.tolist() == [[2.0, 0.0]]
    assert compute_used_growth(np.array([80.0]), per_unit, Weights(np.array([1]), 0)).tolist() == [100.0, 0.0]


@pytest.mark.parametrize(
    ("percent", "score"),
    [
        (0.0, 40),
        (20.0, 70),
        (40.0, 100),
        (40.1, 40),
        (50.0, 33),
        (99.0, 1),
        (100.0, 0),
        (100.1, 0),
        (150.0, 0),
    ],
)
def test_packing_rises_up_to_the_target_and_falls_behind_it(percent: float, score: int):
    assert packing_score(np.array([percent]), 40.0).tolist() == [score]


@pytest.mark.parametrize(
    ("given", "score"),
    [
        ({}, 70.0),  # half of 1 - (0.2 + 0.3) and of 1 - 0.1
        ({"use": 90.0}, 45.0),  # no more than all is used
        ({"use": -5.0}, 80.0),
        ({"request": -5.0}, 85.0),
        ({"deviation": 200.0}, 25.0),
        ({"margin": 2.0}, 65.0),
        ({"margin": 99.0}, 25.0),
        ({"sensitivity": 2.0}, 100 * (1 - (0.5 + 0.1**0.5) / 2)),
        ({"sensitivity": 0.0}, 75.0),
        ({"sensitivity": 0.0, "deviation": 100.0}, 25.0),
        ({"capacity": 0.0}, 0.0),
    ],
)
def test_even_and_little_use_scores_most(given: dict[str, float], score: float):
    said = {"use": 20.0, "deviation": 10.0, "request": 30.0, "capacity": 100.0} | given
    strategy = Strategy(margin=given.get("margin", 1.0), sensitivity=given.get("sensitivity", 1.0))
    found = variation_score(
        np.array([said["use"]]),
        np.array([said["deviation"]]),
        said["request"],
        np.array([said["capacity"]]),
        strategy,
    )
    assert found == pytest.approx([score])
