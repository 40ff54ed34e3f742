"""Scores of machines by their use, against the formula written out for one machine and one task."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cost_models.load_aware.scores import UsedScores, Weights

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
