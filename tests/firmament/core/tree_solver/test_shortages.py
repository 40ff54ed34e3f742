"""Why a group finds no place, and rules that no cluster could keep."""

from __future__ import annotations

import random

import numpy as np
import pytest

from firmament.core.tree_solver.solver import list_inconsistencies
from firmament.core.tree_solver.tree import Rule, Shortage, build_tree
from tests.firmament.core.tree_solver.cases import random_case
from tests.firmament.core.tree_solver.trees import asked, full_tree
from tests.support.effort import examples

PACK, SPREAD = Rule("pack"), Rule("spread")
TREE = full_tree(("rack", "node"), (4, 4))
ROOM = np.array([2, 2, 2, 2, 1, 1, 1, 1, 2, 2, 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("size", "rules", "level", "message"),
    [
        (20, (PACK, PACK), "", "16 of 20 pods fit"),
        (9, (Rule(hard=True), PACK), "rack", "hard pack wants all 9 pods on one unit, the largest holds 8"),
        (
            9,
            (Rule("spread", hard=True), PACK),
            "rack",
            "hard spread wants one pod on each unit, 3 units can take one",
        ),
        (12, (Rule("spread", partitions=3), PACK), "", ""),
        (
            12,
            (Rule("spread", partitions=4), PACK),
            "rack",
            "4 partitions wanted, 3 units can hold their share",
        ),
        (
            15,
            (PACK, Rule(factor=2)),
            "node",
            "pods per unit: multiples of 2; 6 units can hold such a share; at most 12 of 15",
        ),
        (
            16,
            (PACK, Rule(least=2, most=4)),
            "node",
            "pods per unit: 2 to 4; 6 units can hold such a share; at most 12 of 16",
        ),
        (
            10,
            (PACK, Rule(hard=True)),
            "node",
            "hard pack wants the whole share of each rack on one unit, the largest holds 2",
        ),
    ],
)
def test_names_level_rule_and_by_how_much(size, rules, level, message):
    answer = asked(TREE, ROOM, size, *rules)
    if not message:
        assert not isinstance(answer, Shortage)
        return
    assert isinstance(answer, Shortage)
    assert answer.level == level
    assert message in answer.message
    assert answer.message.startswith(f"level {level}: " if level else message)
    assert "\n" not in answer.message


def test_a_tree_without_leaves_has_no_room():
    answer = asked(build_tree(("rack", "node"), {}), np.zeros(0, dtype=np.int64), 3, PACK, PACK)
    assert answer == Shortage("", "0 of 3 pods fit", 0)


def test_one_pod_is_spoken_of_as_one():
    tree = build_tree(("rack", "node"), {("a", "n"): 0})
    assert asked(tree, np.zeros(1, dtype=np.int64), 1, PACK, PACK) == Shortage("", "0 of 1 pod fits", 0)
    assert asked(tree, np.ones(1, dtype=np.int64), 4, PACK, PACK) == Shortage("", "1 of 4 pods fits", 1)


def test_what_is_said_to_fit_fits():
    for number in range(examples(400)):
        case = random_case(number)
        answer = asked(case.tree, case.slots, case.size, *case.rules, held=case.held)
        if isinstance(answer, Shortage) and answer.placeable and answer.level:
            level = case.tree.levels.index(answer.level)
            rules = [PACK] * level + list(case.rules[level:])
            fewer = asked(case.tree, case.slots, answer.placeable, *rules, held=case.held)
            assert not isinstance(fewer, Shortage)


@pytest.mark.parametrize(
    ("rules", "size", "line"),
    [
        ((PACK, Rule(least=4, most=2)), 8, "level node: min 4 is above max 2"),
        ((Rule(partitions=5), PACK), 8, "level rack: 5 partitions wanted, the tree has 4 units"),
        ((PACK, Rule(factor=3)), 8, "level node: 8 pods are no multiple of factor 3, 2 too many"),
        ((PACK, Rule(least=5, most=7, factor=4)), 8, "level node: no multiple of factor 4 is from 5 to 7"),
        ((Rule(least=1, most=2), PACK), 9, "level rack: 4 units of at most 2 pods hold 8 of 9"),
        ((Rule("spread", hard=True), PACK), 5, "level rack: hard spread wants a unit for each of 5 pods"),
        ((Rule(partitions=2, least=5), PACK), 8, "level rack: 2 units of at least 5 pods wanted"),
        ((Rule(partitions=2, most=3), PACK), 8, "level rack: 8 pods cannot be divided by this rule"),
        ((Rule(hard=True), Rule("spread", hard=True)), 14, "possible sizes near it: 13"),
        ((PACK, Rule(factor=3)), 1, "level node: 1 pod is no multiple of factor 3, 1 too many"),
        ((Rule(least=2), PACK), 1, "level rack: 1 unit of at least 2 pods wanted, the group has 1"),
        ((PACK, PACK), 0, "size 0: a group has at least 1 pod"),
    ],
)
def test_rules_that_no_cluster_could_keep(rules, size, line):
    (found,) = list_inconsistencies(rules, ("rack", "node"), size, (4, 16))
    assert line in found


def test_sensible_rules_are_not_complained_about():
    assert list_inconsistencies((Rule("spread", partitions=2), PACK), ("rack", "node"), 8, (4, 16)) == ()


def test_what_is_complained_about_is_impossible_on_an_idle_cluster():
    complaints = 0
    for number in range(examples(600)):
        case = random_case(number)
        units = [case.tree.count_units(level) for level in range(len(case.tree.levels))]
        size = case.size + random.Random(number).randint(0, 6)
        if list_inconsistencies(case.rules, case.tree.levels, size, units):
            complaints += 1
            idle = np.full(case.tree.leaves, size)
            assert isinstance(asked(case.tree, idle, size, *case.rules), Shortage)
    assert complaints > examples(600) / 12


def test_more_pods_that_run_than_the_size_is_said():
    held = np.full(16, 1)
    answer = asked(TREE, ROOM, 6, PACK, PACK, held=held)
    assert answer == Shortage("", "16 pods run already, more than the size 6", 0)


def test_room_without_end_is_room():
    answer = asked(TREE, np.full(16, np.iinfo(np.int64).max), 30, PACK, SPREAD)
    assert not isinstance(answer, Shortage)
    assert answer.tolist() == [8, 8, 7, 7] + [0] * 12
