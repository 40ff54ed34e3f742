"""Rounds with groups that have rules, saved and read again."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from cost_models.group_terms import LevelRule
from firmament.core.events import ClassDefined, JobDefined, TasksSubmitted
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.model import Job, JobGroup, TaskClass
from firmament.core.placement.outcome import PassOptions, no_timer
from firmament.core.rounds import decide
from firmament.core.tree_solver.groups import NO_GROUPS
from firmament.core.tree_solver.nested.trees import Division
from firmament.core.tree_solver.solver import ExactSolver
from firmament.saved_rounds.saved_arrays import decode_arrays, encode_arrays
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.cost_models.tree_groups.scene import Constraints, cluster, group, machines, racks, tree
from tests.firmament.core.rules.gangs.test_gangs import bound
from tests.firmament.saved_rounds.rounds import refusal
from tests.support.core import machine, scheduler
from tests.support.rules import ints


@cache
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


@cache
def nested() -> PlacementProblem:
    """A tree of groups, one of which is divided by a rule."""
    rule = LevelRule("spread", partitions=2)
    groups = (JobGroup("root", least=1), JobGroup("work", "root", 2, divided=(("rack", rule),)))
    core = scheduler([machine(f"m-{rack}", cpu=1, labels={"rack": f"r{rack}"}) for rack in range(3)])
    core.apply(
        [
            JobDefined(Job("j", min_members=2, groups=groups)),
            ClassDefined(1, TaskClass(requests=(("cpu", 1),), group="work")),
            TasksSubmitted(1, ("a", "b"), job="j"),
        ]
    )
    snapshot = core.open_round().snapshot
    assert snapshot is not None
    return snapshot.problem


def test_rules_that_divide_a_group_come_back_as_they_were_and_are_checked():
    assert repr(again(nested()).topology) == repr(nested().topology)
    (number,) = nested().topology.nested
    group = nested().topology.nested[number]
    assert group.divided == (Division(1, 0, LevelRule("spread", partitions=2)),)
    for division, fault in (
        (Division(7, 0, LevelRule()), "topology.groups divides groups out of range"),
        (Division(1, 7, LevelRule()), "topology.groups names labels out of range"),
    ):
        changed = {number: replace(group, divided=(division,))}
        assert refusal(replace(nested(), topology=replace(nested().topology, nested=changed))) == fault


def changed_terms(**changes: Any) -> PlacementProblem:
    given = grouped()
    assert given.topology is not None
    return replace(given, topology=replace(given.topology, **changes))


def changed_tree(**changes: Any) -> PlacementProblem:
    topology = grouped().topology
    assert topology is not None
    return changed_terms(tree=replace(topology.tree, **changes))


def changed_group(**changes: Any) -> PlacementProblem:
    topology = grouped().topology
    assert topology is not None
    return changed_terms(groups={key: replace(each, **changes) for key, each in topology.groups.items()})


STRAY = "topology.tree has units without leaves, or leaves that are nowhere"


@pytest.mark.parametrize(
    ("problem", "fault"),
    [
        (changed_tree(rows=ints(0, 1, 9)), "topology.tree.rows holds numbers out of range"),
        (changed_tree(parents=(ints(0, 0), ints(0, 0, 2))), STRAY),
        (changed_tree(parents=(ints(0, 0), ints(0, 1, 0))), STRAY),
        (changed_tree(parents=(ints(0, 0), ints(0, 0, 0))), STRAY),
        (changed_tree(names=(("a", "b"), ("a-0", "a-1"))), STRAY),
        (
            changed_terms(solver=ExactSolver("none")),  # type: ignore[arg-type]
            "Invalid enum value 'none' - at `$.problem.topology.solver.choice`",
        ),
        (changed_terms(counted=ints(9)), "topology.counted holds numbers out of range"),
        (changed_terms(position=ints(0, 1, 2, 4)), "topology.position holds numbers out of range"),
        (changed_terms(groups={7: 1}), "Expected `object`, got `int` - at `$.problem.topology.groups[...]`"),
        (changed_group(rules=()), "topology.groups has rules for other levels than 2"),
        (
            changed_group(rules=(LevelRule(factor=-1), LevelRule())),
            "topology.groups[0].rules[0].factor holds numbers out of range",
        ),
        (changed_group(held=ints(-1, 0, 0)), "topology.groups[0].held holds numbers out of range"),
        (changed_group(order=ints(9)), "topology.groups[0].order holds numbers out of range"),
    ],
)
def test_what_cannot_have_been_saved_is_refused_in_one_line(problem: PlacementProblem, fault: str):
    assert refusal(problem).startswith(fault)


def test_problems_without_groups_have_none():
    assert again(replace(grouped(), topology=NO_GROUPS)).topology is NO_GROUPS
