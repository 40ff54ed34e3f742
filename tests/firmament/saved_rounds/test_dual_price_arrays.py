from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from firmament.core.flow.heights_and_prices import DualPrices
from firmament.core.flow.problem import Assignments
from firmament.saved_rounds.saved_arrays import decode_arrays, encode_arrays
from tests.firmament.saved_rounds.rounds import refusal
from tests.support.core import problem

PROBLEM = replace(
    problem(tasks=[2, 1, 4], requests=[[1], [2], [1]], free=[[3]] * 3),
    dual_prices=DualPrices(np.array([0, 2]), np.array([120.5, -3], dtype=np.float32)),
)


SAVED = encode_arrays(PROBLEM, Assignments.empty())


def test_worths_come_back_as_they_were():
    found = decode_arrays(SAVED)[0].dual_prices
    assert found is not None
    assert found.shape.tolist() == [0, 2]
    assert found.price.tolist() == [120.5, -3]
    assert found.price.dtype == np.float32


def test_rounds_that_knew_none_have_none():
    content = encode_arrays(replace(PROBLEM, dual_prices=None), Assignments.empty())
    assert decode_arrays(content)[0].dual_prices is None


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            {"price": np.zeros(2)},
            "float64 of the size (2,) is not float32 - at `$.problem.dual_prices.price`",
        ),
        ({"price": np.zeros(3, np.float32)}, "dual_prices.price has the size (3,), not (2,)"),
        ({"shape": np.array([0, 3])}, "dual_prices.shape holds numbers out of range"),
        ({"shape": np.array([-1, 2])}, "dual_prices.shape holds numbers out of range"),
        ({"shape": np.array([2, 0])}, "dual_prices.shape holds numbers out of order"),
        ({"shape": np.array([2, 2])}, "dual_prices.shape holds numbers out of order"),
        ({"price": np.array([1, np.nan], np.float32)}, "dual_prices.price holds numbers that are not finite"),
    ],
)
def test_prices_that_make_no_sense_are_refused(change: dict[str, Any], fault: str):
    assert PROBLEM.dual_prices is not None
    assert refusal(replace(PROBLEM, dual_prices=replace(PROBLEM.dual_prices, **change))) == fault
