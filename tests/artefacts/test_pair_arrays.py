"""Rounds with pairs of tasks and gangs, saved and read again."""

from __future__ import annotations

import io
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from cost_models.pairs import PairTerms
from firmament.artefacts.arrays import decode_arrays, encode_arrays
from firmament.artefacts.errors import ArtefactError
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.rules.pairs import PairRules
from tests.support.core import problem
from tests.support.rules import ints


def paired() -> PlacementProblem:
    """Two classes on three machines in two domains; a task of the first kind runs on machine 2."""
    terms = PairTerms(
        domain=ints(0, 0, 1),
        cost=np.array([[0.0, 1.5], [2.5, 0.0]]),
        rating=np.array([[0.0, np.nan], [7.0, 0.0]]),
        group=ints(0, 0, -1),
        stage=ints(1, 2, 0),
        source=ints(1),
        target=ints(0),
        limit=np.array([5.5]),
        amount=ints(9),
        link=np.array([[-1, 0], [0, -1]], dtype=np.int64),
        link_limit=ints(100),
        both_ways=False,
        bounded=True,
        names=("a", "b", "é"),
        outvoted="too many exceed",
    )
    pairs = PairRules(terms, 0.25, kind=ints(1, -1), resident_kind=ints(0), resident_machine=ints(2))
    return replace(problem(tasks=[2, 1], requests=[[1], [1]], free=[[2]] * 3), pairs=pairs)


def again(given: PlacementProblem) -> PlacementProblem:
    return decode_arrays(encode_arrays(given, Assignments.empty()))[0]


def test_pairs_come_back_as_they_were():
    given, found = paired().pairs, again(paired()).pairs
    assert given is not None
    assert found is not None
    for one, other in ((given, found), (given.terms, found.terms)):
        for each in fields(one):
            if each.name != "terms":
                left, right = getattr(one, each.name), getattr(other, each.name)
                np.testing.assert_array_equal(left, right, each.name)
                assert type(left) is type(right)
                assert getattr(left, "dtype", None) == getattr(right, "dtype", None)


def test_gangs_come_back_as_they_were():
    given = replace(paired(), pairs=None, gang=ints(-1, 1), gang_need=ints(3, 1))
    found = again(given)
    assert (found.gang.tolist(), found.gang_need.tolist(), found.pairs) == ([-1, 1], [3, 1], None)


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("pairs_limit", None, "entry 'pairs_limit' is missing"),
        ("pairs_kind", ints(1), "pairs_kind has the size (1,), not (2,)"),
        ("pairs_kind", ints(1, 3), "pairs_kind holds numbers out of range"),
        ("pairs_domain", ints(0, 0, 2), "pairs_domain holds numbers out of range"),
        ("pairs_rating", np.zeros((2, 3)), "pairs_rating has the size (2, 3), not (2, 2)"),
        ("pairs_target", ints(0, 1), "pairs_target has the size (2,), not (1,)"),
        ("pairs_amount", np.array([1.0]), "pairs_amount is float64 of the size (1,)"),
        ("pairs_link", np.zeros((2, 2), np.int64) + 1, "pairs_link holds numbers out of range"),
        ("pairs_resident_machine", ints(3), "pairs_resident_machine holds numbers out of range"),
        ("pairs_flags", np.array([True]), "pairs_flags or pairs_texts has another size"),
        ("gang", ints(0, 0), "gang holds numbers out of range"),
        ("gang", ints(-1), "gang has the size (1,), not (2,)"),
    ],
)
def test_what_cannot_have_been_saved_is_refused_in_one_line(name: str, value: Any, fault: str):
    with np.load(io.BytesIO(encode_arrays(paired(), Assignments.empty()))) as archive:
        entries: dict[str, Any] = {each: archive[each] for each in archive.files}
    entries[name] = value
    content = io.BytesIO()
    np.savez(content, **{each: array for each, array in entries.items() if array is not None})
    with pytest.raises(ArtefactError) as refused:
        decode_arrays(content.getvalue())
    assert str(refused.value) == f"problem.npz: {fault}; save the round again"
