from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from firmament.core.flow.heights_and_prices import HeightCharge
from firmament.core.flow.problem import Assignments
from firmament.saved_rounds.saved_arrays import decode_arrays, encode_arrays
from tests.firmament.saved_rounds.rounds import refusal
from tests.support.core import problem
from tests.support.heights import with_heights

PROBLEM = with_heights(problem(tasks=[2, 1], requests=[[1], [2]], free=[[3]] * 3), (1.5, 0, 9), (2, 4.5))


SAVED = encode_arrays(PROBLEM, Assignments.empty())


def test_heights_come_back_as_they_were():
    found = decode_arrays(SAVED)[0].heights
    before = PROBLEM.heights
    assert found is not None
    assert before is not None
    for name in ("start", "rate", "amount", "growth"):
        np.testing.assert_array_equal(getattr(found, name), getattr(before, name))
    assert [(each.best, each.per_unit, each.most) for each in found.charges] == [(0.0, 1.0, np.inf)]
    np.testing.assert_array_equal(found.charges[0].raw, before.charges[0].raw)
    assert found.charges[0].raw.dtype == np.int16


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"start": np.zeros(2)}, "heights.start has the size (2,), not (3,)"),
        ({"rate": np.zeros((2, 2))}, "heights.rate has the size (2, 2), not (2, 3)"),
        ({"amount": np.ones(2)}, "heights.amount has the size (2,), not 2 dimensions"),
        ({"amount": np.ones((2, 2))}, "heights.amount has the size (2, 2), not (2, 1)"),
        (
            {"growth": np.array([1, np.nan, 1])},
            "heights.growth holds numbers that are negative or not finite",
        ),
        ({"amount": -np.ones((2, 1))}, "heights.amount holds numbers that are negative or not finite"),
        (
            {"growth": np.zeros(3, dtype=np.int64)},
            "int64 of the size (3,) is not float64 - at `$.problem.heights.growth`",
        ),
        ({"charges": (HeightCharge(np.zeros((2, 3), np.bool_), 0, 1, 2),)}, "heights.charges: raw is bool"),
        (
            {"charges": (HeightCharge(np.zeros((2, 2)), 0, 1, 2),)},
            "heights.charges[0].raw has the size (2, 2), not (2, 3)",
        ),
    ],
)
def test_what_cannot_have_been_saved_is_refused_in_one_line(change: dict[str, Any], fault: str):
    assert PROBLEM.heights is not None
    assert refusal(replace(PROBLEM, heights=replace(PROBLEM.heights, **change))) == fault
