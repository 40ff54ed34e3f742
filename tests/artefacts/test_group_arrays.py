"""Rounds with groups that have rules, saved and read again."""

from __future__ import annotations

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
from tests.artefacts.rounds import changed
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
        ("tree.rows", None, "entry 'topology.tree.rows' is missing"),
        ("tree.rows", ints(0, 1, 9), "topology.tree.rows holds numbers out of range"),
        ("solver", np.array(["none"]), "topology.solver is none, not one of best-fit, roomiest, cheapest"),
        (
            "groups.value.rules.factor",
            ints(1, 1),
            "topology.groups.value.rules.factor has the size (2,), not (4,)",
        ),
        ("groups.value.rules.length", ints(1, 3), "topology.groups has rules for other levels than 2"),
        (
            "groups.value.rules.kind",
            np.array(["pack"] * 3 + ["heap"]),
            "kind is heap, not one of pack, spread",
        ),
        ("counted", ints(9), "topology.counted holds numbers out of range"),
        ("position", ints(0, 1, 2, 4), "topology.position holds numbers out of range"),
        ("groups.value.held", -np.ones(6, np.int64), "topology.groups.value.held holds numbers out of range"),
        (
            "groups.value.order",
            np.zeros(2),
            "topology.groups.value.order is float64 of the size (2,), not int64",
        ),
        ("tree.paths.entry", np.array(["a", "x"] * 3), "topology.tree[0].paths names a leaf twice"),
        ("tree.paths.entry.length", ints(1, 2, 3), "topology.tree[0]: unit a: 1 names for 2 levels"),
    ],
)
def test_what_cannot_have_been_saved_is_refused_in_one_line(name: str, value: Any, fault: str):
    with pytest.raises(ArtefactError) as refused:
        decode_arrays(changed(encode_arrays(grouped(), Assignments.empty()), {f"topology.{name}": value}))
    assert fault in str(refused.value)
    assert "\n" not in str(refused.value)


def test_problems_without_groups_have_none():
    assert again(replace(grouped(), topology=None)).topology is None
