"""Which sizes and numbers the arrays of a saved problem may have, and what contradicts each other in one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from firmament.core.constraints.quota_terms import Draw, DrawGroup
from firmament.core.constraints.ruleset import ClassRules, PreferredSpread, RequiredSpread, RuleSet
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.tree_solver.groups import NO_GROUPS, GroupTerms, TreeGroup
from firmament.core.tree_solver.solver import ExactSolver
from firmament.saved_rounds.layouts import LAYOUTS, faults
from tests.firmament.core.constraints.quota_terms import one_of, pose
from tests.firmament.core.tree_solver.trees import full_tree
from tests.support.core import problem
from tests.support.rules import counter, ints

STATED = {
    "PlacementProblem": {
        "counts": "CW from 0",
        "priority": "C from 0",
        "shape": "C from 0 to S",
        "requests": "SK from 0",
        "feasible": "SM",
        "cost": "SM",
        "crowd": "M from 0",
        "free": "MK",
        "pins": "* from 0 to C",
        "gang": "* from -1 to gangs",
        "gang_need": "*",
        "multiplicity": "M from 1",
    },
    "Assignments": {
        "cls": "A from 0 to C",
        "machine": "A from 0 to M",
        "count": "A from 1",
    },
    "JointRows": {
        "row_of": "M from -1",
        "amount": "S from 0",
        "limit": "*",
    },
    "RuleSet": {
        "of": "* from 0 to C",
    },
    "Counter": {
        "domain": "M from -1",
        "start": "*",
        "settled": "*",
    },
    "ClassRules": {
        "adds": "* from 0 to counters",
    },
    "Exclusion": {
        "counter": "one from 0 to counters",
    },
    "Attraction": {
        "counters": "* from 0 to counters",
    },
    "RequiredSpread": {
        "counter": "one from 0 to counters",
        "key_domain": "M from -1",
        "counted": "*",
    },
    "Inclination": {
        "counter": "one from 0 to counters",
    },
    "PreferredSpread": {
        "counter": "one from 0 to counters",
        "key_domain": "M from -1",
    },
    "ModelConstraint": {
        "kind": "C",
    },
    "PairRules": {
        "kind": "C from -1 to N",
        "resident_kind": "R from 0 to N",
        "resident_machine": "R from 0 to M",
    },
    "PairTerms": {
        "domain": "M from 0 to D",
        "cost": "DD",
        "rating": "DD",
        "group": "N",
        "stage": "N",
        "source": "P from 0 to N",
        "target": "P from 0 to N",
        "limit": "P",
        "amount": "P",
        "link": "DD from -1 to links",
        "link_limit": "*",
    },
    "Tree": {
        "rows": "L from 0 to M",
    },
    "GroupTerms": {
        "groups": "* from 0 to gangs",
        "nested": "* from 0 to gangs",
        "position": "M from 0",
        "counted": "* from 0 to K",
    },
    "TreeGroup": {
        "held": "L from 0",
        "order": "* from 0 to C",
    },
    "NestedGroup": {
        "parent": "* from -1",
        "least": "* from 0",
        "part_class": "* from 0 to C",
        "part_group": "* from 0",
        "part_count": "* from 0",
        "part_to_come": "*",
        "held_group": "* from 0",
        "held_machine": "* from 0 to M",
        "order": "* from 0 to C",
    },
    "LevelRule": {
        "partitions": "one from 0",
        "least": "one from 0",
        "most": "one from 0",
        "factor": "one from 0",
    },
    "RoundHeights": {
        "start": "M from 0",
        "rate": "HM from 0",
        "amount": "SH from 0",
        "growth": "M from 0",
    },
    "HeightCharge": {
        "raw": "SM",
    },
    "SpreadTerms": {
        "group": "C from -1 to G",
        "domain": "M from 0",
        "machine_step": "G from 0",
        "domain_step": "G from 0",
        "resident_group": "B from 0 to G",
        "resident_machine": "B from 0 to M",
    },
    "QuotaTree": {
        "parent": "Q from -1 to Q",
        "subtree": "QJ from 0",
        "local": "QJ from 0",
        "borrowing": "QJ from 0",
        "limit": "QJ from 0",
    },
    "QuotaTerms": {
        "flavor": "J from 0 to F",
        "resource": "J from 0 to J",
        "own": "QJ",
        "weight": "Q",
        "fair": "Q",
        "strict": "Q",
        "within": "Q",
        "reclaim": "Q",
        "borrows": "Q",
        "threshold": "Q",
        "kind": "M from 0 to Y",
        "covers": "YF",
        "draw": "S from -1 to draws",
    },
    "DualPrices": {
        "shape": "E from 0 to S",
        "price": "E from -inf",
    },
}
"""Sizes by field, a letter for each dimension; "from": the least number; "to": all are below it, or that length."""


def test_the_layouts_are_those_that_are_stated():
    found = {
        owner.__name__: {
            name: (layout.size or "one")
            + ("" if layout.least is None else f" from {layout.least:g}")
            + ("" if layout.end is None else f" to {layout.end}")
            for name, layout in fields.items()
        }
        for owner, fields in LAYOUTS.items()
    }
    assert found == STATED


BASE = problem(tasks=[1, 2], requests=[[1], [2]], free=[[3], [4], [5]])
NOBODY = Assignments.empty()


def list_faults(made: PlacementProblem, placed: Assignments = NOBODY) -> list[str]:
    return list(faults(made, placed))


def test_a_plain_problem_has_no_fault():
    assert list_faults(BASE) == []
    assert list_faults(BASE, Assignments(ints(1), ints(2), ints(1))) == []


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"priority": ints(0)}, "priority has the size (1,), not (2,)"),
        ({"priority": ints(0, -1)}, "priority holds numbers out of range"),
        ({"shape": ints(0, 2)}, "shape holds numbers out of range"),
        ({"crowd": ints(0, 0, -1)}, "crowd holds numbers out of range"),
        ({"multiplicity": ints(1, 0, 1)}, "multiplicity holds numbers out of range"),
        ({"pins": {2: ints(0)}}, "pins holds numbers out of range"),
        ({"pins": {1: ints(3)}}, "pins[1] holds numbers out of range"),
        ({"pins": {1: ints(-1)}}, "pins[1] holds numbers out of range"),
        ({"gang": ints(0), "gang_need": ints(1)}, "gang has the size (1,), not (2,)"),
        ({"gang": ints(0, 1), "gang_need": ints(1)}, "gang holds numbers out of range"),
        ({"gang_need": ints(1)}, "gang has the size (0,), not (2,)"),
        ({"gang": ints(-1, -1)}, ""),
        ({"gang": ints(0, -1), "gang_need": ints(1)}, ""),
        ({"pins": {1: ints(0, 2)}, "multiplicity": ints(1, 2, 1)}, ""),
    ],
)
def test_faults_of_a_problem(given: dict[str, Any], fault: str):
    assert list_faults(replace(BASE, **given)) == ([fault] if fault else [])


@pytest.mark.parametrize(
    ("placed", "fault"),
    [
        ((2, 0, 1), "placed.cls holds numbers out of range"),
        ((0, 3, 1), "placed.machine holds numbers out of range"),
        ((0, 0, 0), "placed.count holds numbers out of range"),
        ((1, 2, 1), ""),
    ],
)
def test_faults_of_a_placement(placed: tuple[int, int, int], fault: str):
    found = list_faults(BASE, Assignments(*(ints(each) for each in placed)))
    assert found == ([fault] if fault else [])


class TestQuotas:
    """Two quotas of two flavors; machines are of one kind."""

    def faults(self, draw: Draw | None = None, **given: Any) -> list[str]:
        terms = pose([[1, 1], [2, 2]], [draw or Draw(0, (one_of(0, 1),))], parent=[-1, 0], kind=[0, 0, 0])
        terms = replace(terms, draw=ints(0, -1), **given)
        return list_faults(replace(BASE, quotas=terms))

    @pytest.mark.parametrize(
        ("draw", "sound"),
        [
            (Draw(-1), True),
            (Draw(1, (one_of(1),)), True),
            (Draw(2), False),
            (Draw(-2), False),
            (Draw(0, (DrawGroup((0,), ((0, 1),), (1, 2)),)), True),
            (Draw(0, (DrawGroup((0, 1), ((0,),), (1,)),)), False),
            (Draw(0, (DrawGroup((2,), ((0,),), (1,)),)), False),
            (Draw(0, (DrawGroup((-1,), ((0,),), (1,)),)), False),
            (Draw(0, (DrawGroup((0,), ((0, 1),), (1,)),)), False),
            (Draw(0, (DrawGroup((0,), ((2,),), (1,)),)), False),
            (Draw(0, (DrawGroup((0,), ((-1,),), (1,)),)), False),
            (Draw(0, (DrawGroup((0,), ((1,),), (0,)),)), False),
            (Draw(0, (one_of(0), one_of(5))), False),
        ],
    )
    def test_draws(self, draw: Draw, sound: bool):
        assert self.faults(draw) == ([] if sound else ["quotas.draws[0] holds numbers out of range"])

    @pytest.mark.parametrize(
        ("entry", "sound"),
        [
            ((0, 0, 0, 0, 0), True),
            ((0, 0, 0, 1, 9), True),
            ((1, 0, 0, 0, 1), False),
            ((-1, 0, 0, 0, 1), False),
            ((0, 1, 0, 0, 1), False),
            ((0, -1, 0, 0, 1), False),
            ((0, 0, 1, 0, 1), False),
            ((0, 0, -1, 0, 1), False),
            ((0, 0, 0, 2, 1), False),
            ((0, 0, 0, -1, 1), False),
            ((0, 0, 0, 0, -1), False),
        ],
    )
    def test_tasks_that_have_used_one_of_several_flavors(
        self, entry: tuple[int, int, int, int, int], sound: bool
    ):
        assert self.faults(booked=(entry,)) == ([] if sound else ["quotas.booked holds numbers out of range"])

    def test_names_and_order(self):
        assert self.faults(names=("a",)) == ["quotas has other names than quotas"]
        assert self.faults(columns=(("f0", "cpu"),)) == ["quotas has other names than quotas"]
        tree = pose([[1, 1], [2, 2]], [], parent=[-1, -1]).tree
        for parent, sound in (
            (ints(-1, 0), True),
            (ints(1, -1), False),
            (ints(-1, 1), False),
            (ints(0, -1), False),
        ):
            found = self.faults(tree=replace(tree, parent=parent))
            assert found == ([] if sound else ["quotas.tree.parent comes after one below it"])


class TestRules:
    """One counter of two domains: machines 0 and 1 are in the first, machine 2 in the second."""

    def faults(self, given: ClassRules | None = None, **more: Any) -> list[str]:
        rules = RuleSet((counter([0, 0, 1]),), {0: given or ClassRules()}, **more)
        return list_faults(replace(BASE, rules=rules))

    def test_counters(self):
        assert self.faults() == []
        assert self.faults(ClassRules(adds=(0,))) == []
        assert self.faults(ClassRules(adds=(1,))) == ["rules.of[0].adds holds numbers out of range"]
        made = replace(counter([0, 0, 1]), settled=np.zeros(1, dtype=np.int64))
        said = ["rules.counters[0] counts in other domains than it has"]
        assert list_faults(replace(BASE, rules=RuleSet((made,), {}))) == said
        fewer = replace(counter([0, 0, 1]), start=ints(0), settled=ints(0))
        assert list_faults(replace(BASE, rules=RuleSet((fewer,), {}))) == said

    @pytest.mark.parametrize(
        ("unsettled", "sound"),
        [
            ({(0, 0)}, True),
            ({(0, 1)}, True),
            ({(0, 2)}, False),
            ({(1, 0)}, False),
            ({(-1, 0)}, False),
            ({(0, -1)}, False),
        ],
    )
    def test_domains_that_are_not_settled(self, unsettled: set[tuple[int, int]], sound: bool):
        said = [] if sound else ["rules.unsettled names no counter and domain"]
        assert self.faults(unsettled=frozenset(unsettled)) == said

    @pytest.mark.parametrize(
        ("domains", "counted", "sound"),
        [((0, 1, -1), 2, True), ((0, 2, -1), 2, False), ((0, 1, 1), 1, False)],
    )
    def test_spreading_over_domains_that_are_counted(
        self, domains: tuple[int, int, int], counted: int, sound: bool
    ):
        said = [] if sound else ["rules.of[0] spreads over other domains than its counters count"]
        required = spread(
            RequiredSpread, counter=0, key_domain=ints(*domains), counted=np.ones(counted, np.bool_)
        )
        assert self.faults(ClassRules(spreadings=(required,))) == said
        if counted == 2:
            preferred = spread(PreferredSpread, counter=0, key_domain=ints(*domains))
            assert self.faults(ClassRules(soft_spreadings=(preferred,))) == said


def spread(kind: Any, **given: Any) -> Any:
    """A rule with some of its fields given, and anything valid in the others."""
    values: dict[str, Any] = {}
    for name, each in kind.__dataclass_fields__.items():
        if name in given:
            values[name] = given[name]
        elif "bool" in str(each.type):
            values[name] = False
        elif "Float" in str(each.type):
            values[name] = np.zeros(2)
        elif "Bool" in str(each.type):
            values[name] = np.ones(2, dtype=np.bool_)
        elif "Int64" in str(each.type):
            values[name] = np.zeros(2, dtype=np.int64)
        else:
            values[name] = 1
    return kind(**values)


class TestGroups:
    """A tree of one rack with three machines."""

    def terms(self, **given: Any) -> GroupTerms:
        tree = full_tree(("rack", "node"), (1, 3))
        nothing = np.empty(0, dtype=np.int64)
        rules = given.pop("rules", (None, None))
        group = TreeGroup("g", 2, rules, np.zeros(3, dtype=np.int64), nothing)
        return replace(GroupTerms(tree, ExactSolver(), {0: group}, ints(0, 1, 2)), **given)

    def faults(self, terms: GroupTerms) -> list[str]:
        return list_faults(replace(BASE, gang=ints(0, -1), gang_need=ints(1), topology=terms))

    def test_no_groups_have_no_fault(self):
        assert list_faults(replace(BASE, topology=NO_GROUPS)) == []

    def test_a_position_is_a_leaf_or_the_number_of_leaves(self):
        assert [each for each in self.faults(self.terms(position=ints(0, 1, 3))) if "position" in each] == []
        assert "topology.position holds numbers out of range" in self.faults(
            self.terms(position=ints(0, 1, 4))
        )

    def test_rules_are_those_of_each_level(self):
        said = "topology.groups has rules for other levels than 2"
        assert said not in self.faults(self.terms())
        assert said in self.faults(self.terms(rules=(None,)))
        assert said in self.faults(self.terms(rules=(None, None, None)))

    @pytest.mark.parametrize(
        ("parents", "sound"),
        [
            ((0, 0, 0), True),
            ((0, 0), False),
            ((0, 0, 2), False),
            ((1, 1, 1), False),
            ((0, 0, 1), False),
            ((-1, 0, 0), False),
        ],
    )
    def test_units_are_below_those_of_the_level_above(self, parents: tuple[int, ...], sound: bool):
        tree = full_tree(("rack", "node"), (1, 3))
        changed = replace(tree, parents=(tree.parents[0], ints(*parents)))
        found = self.faults(self.terms(tree=changed))
        assert ("topology.tree has units without leaves, or leaves that are nowhere" in found) is not sound
