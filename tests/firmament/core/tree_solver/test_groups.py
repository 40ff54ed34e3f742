"""The groups of a round by number of the gang, and the order of machines in their tree."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from firmament.core.tree_solver.groups import NO_GROUPS, GroupTerms, TreeGroup
from firmament.core.tree_solver.solver import ExactSolver
from tests.firmament.core.tree_solver.trees import full_tree

NOTHING = np.empty(0, dtype=np.int64)
GROUP = TreeGroup("g", 2, (), NOTHING, NOTHING)


def terms(position: list[int], **more: Any) -> GroupTerms:
    tree = full_tree(("node",), (max(position),))
    given: dict[str, Any] = {"groups": {3: GROUP}, **more}
    return GroupTerms(tree, ExactSolver(), position=np.array(position), **given)


def test_gangs_that_are_groups_are_found():
    made = terms([0, 1])
    assert made.every is made.groups
    assert made.find_grouped(np.array([0, 3, -1, 3])).tolist() == [False, True, False, True]
    both = terms([0, 1], nested={5: SimpleNamespace()})
    assert [*both.every] == [3, 5]
    assert both.find_grouped(np.array([5, 4, 3])).tolist() == [True, False, True]
    assert NO_GROUPS.find_grouped(np.array([0, 3])).tolist() == [False, False]


def test_machines_are_ranked_by_their_leaves_and_those_outside_last():
    assert terms([2, 4, 0, 1, 4, 3]).rank_machines(6).tolist() == [2, 4, 0, 1, 5, 3]
    assert terms([2, 0, 1], groups={}).rank_machines(3).tolist() == [0, 1, 2]
    assert NO_GROUPS.rank_machines(2).tolist() == [0, 1]


def test_a_group_is_not_refused_unless_it_says_why():
    assert GROUP.refused == ""
    assert NO_GROUPS.counted.tolist() == []
    assert (NO_GROUPS.nested, NO_GROUPS.groups) == ({}, {})
