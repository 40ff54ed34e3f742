from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

from firmament.artefacts.arrays import decode_arrays, encode_arrays
from firmament.artefacts.errors import ArtefactError
from firmament.core.flow.problem import Assignments
from firmament.core.flow.terms import DualPrices
from tests.support.core import problem

PROBLEM = replace(
    problem(tasks=[2, 1, 4], requests=[[1], [2], [1]], free=[[3]] * 3),
    dual_prices=DualPrices(np.array([0, 2]), np.array([120.5, -3], dtype=np.float32)),
)


def changed(**entries: object) -> bytes:
    """The file of the problem with other entries; None leaves one out."""
    with np.load(io.BytesIO(encode_arrays(PROBLEM, Assignments.empty()))) as archive:
        arrays = {name: archive[name] for name in archive.files} | entries
    content = io.BytesIO()
    np.savez(content, **{name: array for name, array in arrays.items() if array is not None})
    return content.getvalue()


def test_worths_come_back_as_they_were():
    found = decode_arrays(changed())[0].dual_prices
    assert found is not None
    assert found.shape.tolist() == [0, 2]
    assert found.price.tolist() == [120.5, -3]
    assert found.price.dtype == np.float32


def test_rounds_that_knew_none_have_none():
    assert (
        decode_arrays(encode_arrays(replace(PROBLEM, dual_prices=None), Assignments.empty()))[0].dual_prices
        is None
    )
    assert decode_arrays(changed(worths_shape=None, worths_worth=None))[0].dual_prices is None


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (changed(worths_worth=None), "entry 'worths_worth' is missing"),
        (changed(worths_worth=np.zeros(2)), "not int64 and float32 of one length"),
        (changed(worths_worth=np.zeros(3, np.float32)), "not int64 and float32 of one length"),
        (changed(worths_shape=np.array([0, 3])), "worths_shape holds numbers out of range or out of order"),
        (changed(worths_shape=np.array([-1, 2])), "worths_shape holds numbers out of range or out of order"),
        (changed(worths_shape=np.array([2, 0])), "worths_shape holds numbers out of range or out of order"),
        (changed(worths_shape=np.array([2, 2])), "worths_shape holds numbers out of range or out of order"),
        (changed(worths_worth=np.array([1, np.nan], np.float32)), "numbers that are not finite"),
    ],
)
def test_entries_that_make_no_sense_are_refused(content: bytes, fault: str):
    with pytest.raises(ArtefactError, match=fault):
        decode_arrays(content)
