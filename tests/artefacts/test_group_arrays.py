"""Rounds with groups that have rules, saved and read again."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from firmament.artefacts.arrays import decode_arrays, encode_arrays
from firmament.artefacts.errors import ArtefactError
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.placement.outcome import PassOptions, no_timer
from firmament.core.rounds import decide
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.core.test_gangs import bound
from tests.support.rules import ints
from tests.topology.scene import Constraints, cluster, group, machines, racks, tree


def grouped() -> PlacementProblem:
    """A group of which one task runs, one that is refused, and a machine outside of the tree."""
    given = racks(a=(2, 2), b=(2,))
    rules: Constraints = {"rack": {"hard": True}, "node": {"type": "spread", "min": 1, "max": 2}}
    outside = machines(racks(far=(3,)))
    core = cluster(machines(given), outside, tree(given), group("g", 4, rules), group("h", 9, rules))
    core.apply([bound("a-1", "g-0")])
    snapshot = core.open_round().snapshot
    assert snapshot is not None
    return snapshot.problem


def again(given: PlacementProblem) -> PlacementProblem:
    return decode_arrays(encode_arrays(given, Assignments.empty()))[0]


def test_groups_come_back_as_they_were():
    given, found = grouped().topology, again(grouped()).topology
    assert given is not None
    assert found is not None
    assert repr(found) == repr(given)
    assert sorted(group.name for group in found.groups.values()) == ["ns/g", "ns/h"]


def test_a_round_that_is_read_again_decides_the_same():
    answers = [
        decide(problem, OrToolsSolver(), PassOptions(), no_timer) for problem in (grouped(), again(grouped()))
    ]
    assert repr(answers[0].assignments) == repr(answers[1].assignments)
    assert len(answers[0].assignments.cls) > 0
    assert answers[0].shortages == answers[1].shortages != {}


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("groups_rows", None, "entry 'groups_rows' is missing"),
        ("groups_rows", ints(0, 1, 9), "groups_rows holds numbers out of range"),
        ("groups_choice", np.array("none"), "groups_choice is none, not one of best-fit, roomiest, cheapest"),
        ("groups_rules", np.zeros((2, 2, 5), np.int64), "groups_rules has the size (2, 2, 5), not (2, 2, 6)"),
        ("groups_counted", ints(9), "groups_counted holds numbers out of range"),
        ("groups_held_leaf", ints(3), "groups_held_leaf holds numbers out of range"),
        ("groups_order_class", np.zeros(2), "groups_order_class is float64 of the size (2,)"),
        ("groups_paths", np.array([["a", "x"]] * 3), "groups_paths names a leaf twice"),
    ],
)
def test_what_cannot_have_been_saved_is_refused_in_one_line(name: str, value: Any, fault: str):
    with np.load(io.BytesIO(encode_arrays(grouped(), Assignments.empty()))) as archive:
        entries: dict[str, Any] = {each: archive[each] for each in archive.files}
    entries[name] = value
    content = io.BytesIO()
    np.savez(content, **{each: array for each, array in entries.items() if array is not None})
    with pytest.raises(ArtefactError) as refused:
        decode_arrays(content.getvalue())
    assert fault in str(refused.value)


def test_problems_without_groups_have_none():
    assert again(replace(grouped(), topology=None)).topology is None
