from __future__ import annotations

import io

import numpy as np
import pytest

from firmament.artefacts.arrays import decode_arrays, encode_arrays
from firmament.artefacts.errors import ArtefactError
from firmament.core.flow.problem import Assignments
from tests.support.core import problem
from tests.support.heights import with_heights

PROBLEM = with_heights(problem(tasks=[2, 1], requests=[[1], [2]], free=[[3]] * 3), (1.5, 0, 9), (2, 4.5))


def changed(**entries: object) -> bytes:
    """The saved arrays with some entries replaced; None leaves one out."""
    with np.load(io.BytesIO(encode_arrays(PROBLEM, Assignments.empty()))) as archive:
        arrays = {name: archive[name] for name in archive.files} | entries
    content = io.BytesIO()
    np.savez(content, **{name: array for name, array in arrays.items() if array is not None})
    return content.getvalue()


def test_heights_come_back_as_they_were():
    found = decode_arrays(changed())[0].heights
    before = PROBLEM.heights
    assert found is not None
    assert before is not None
    for name in ("start", "rate", "amount", "growth"):
        np.testing.assert_array_equal(getattr(found, name), getattr(before, name))
    assert [(each.best, each.per_unit, each.most) for each in found.charges] == [(0.0, 1.0, np.inf)]
    np.testing.assert_array_equal(found.charges[0].raw, before.charges[0].raw)
    assert found.charges[0].raw.dtype == np.int16


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (changed(heights_rate=None), "entry 'heights_rate' is missing"),
        (changed(heights_raw_0=None), "entry 'heights_raw_0' is missing"),
        (changed(heights_start=np.zeros(2)), "heights_start has the size (2,), not (3,)"),
        (changed(heights_rate=np.zeros((2, 3))), "heights_rate has the size (2, 3), not (1, 3)"),
        (changed(heights_amount=np.ones(2)), "heights_amount is float64 of the size (2,)"),
        (changed(heights_growth=np.zeros(3, dtype=np.int64)), "heights_growth is int64 of the size (3,)"),
        (changed(heights_growth=np.array([1, np.nan, 1])), "heights_growth holds numbers that are negative"),
        (changed(heights_amount=-np.ones((2, 1))), "heights_amount holds numbers that are negative"),
        (changed(heights_raw_0=np.zeros((2, 3), dtype=np.bool_)), "heights_raw_0 is bool of the size (2, 3)"),
    ],
)
def test_what_cannot_have_been_saved_is_refused_in_one_line(content, fault):
    with pytest.raises(ArtefactError) as refused:
        decode_arrays(content)
    message = str(refused.value)
    assert message.startswith(f"problem.npz: {fault}")
    assert "\n" not in message
