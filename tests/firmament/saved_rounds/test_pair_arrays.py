"""Rounds with pairs of tasks and gangs, saved and read again."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from cost_models.pairs import PairTerms
from firmament.core.constraints.pairs import NO_PAIRS, PairRules
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.saved_rounds.saved_arrays import decode_arrays, encode_arrays
from tests.firmament.saved_rounds.rounds import refusal
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
                if each.name == "names":
                    right = tuple(right)
                np.testing.assert_array_equal(left, right, each.name)
                assert type(left) is type(right)
                assert getattr(left, "dtype", None) == getattr(right, "dtype", None)


def test_gangs_come_back_as_they_were():
    given = replace(paired(), pairs=NO_PAIRS, gang=ints(-1, 1), gang_need=ints(3, 1))
    found = again(given)
    assert (found.gang.tolist(), found.gang_need.tolist()) == ([-1, 1], [3, 1])
    assert found.pairs is NO_PAIRS


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"domain": ints(0, 0, 2)}, "domain holds numbers out of range"),
        ({"rating": np.zeros((2, 3))}, "rating has the size (2, 3), not (2, 2)"),
        ({"target": ints(0, 1)}, "target has the size (2,), not (1,)"),
        ({"link": np.zeros((2, 2), np.int64) + 1}, "link holds numbers out of range"),
        ({"names": ("a",)}, "names has 1 texts, not 3"),
    ],
)
def test_terms_that_cannot_have_been_saved_are_refused(change: dict[str, Any], fault: str):
    given = paired()
    assert given.pairs is not None
    pairs = replace(given.pairs, terms=replace(given.pairs.terms, **change))
    assert refusal(replace(given, pairs=pairs)) == f"pairs.terms.{fault}"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"kind": ints(1)}, "pairs.kind has the size (1,), not (2,)"),
        ({"kind": ints(1, 3)}, "pairs.kind holds numbers out of range"),
        ({"resident_machine": ints(3)}, "pairs.resident_machine holds numbers out of range"),
        ({"units": "1"}, "Expected `float`, got `str` - at `$.problem.pairs.units`"),
    ],
)
def test_pairs_that_cannot_have_been_saved_are_refused(change: dict[str, Any], fault: str):
    given = paired()
    assert given.pairs is not None
    assert refusal(replace(given, pairs=replace(given.pairs, **change))) == fault


def test_gangs_that_cannot_have_been_saved_are_refused():
    assert refusal(replace(paired(), gang=ints(0, 0))) == "gang holds numbers out of range"
    wrong = replace(paired(), gang=ints(-1))
    assert refusal(wrong) == "gang has the size (1,), not (2,)"
