"""In which order groups over a tree are placed: the most important first, then the oldest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from firmament.core.placement.tree_groups.groups import _list_priorities
from firmament.core.tree_solver.groups import GroupTerms, TreeGroup
from firmament.core.tree_solver.solver import ExactSolver
from tests.firmament.core.tree_solver.trees import full_tree
from tests.support.core import problem
from tests.support.rules import ints


@pytest.mark.parametrize(
    ("priority", "expected"),
    [
        ([5, 5, 5, 9], {0: 5, 1: 5, 2: 5}),
        ([1, 5, 9, 9], {2: 9, 1: 5, 0: 1}),
        ([9, 5, 1, 9], {0: 9, 1: 5, 2: 1}),
    ],
)
def test_groups_come_by_priority_then_by_age(priority: list[int], expected: dict[int, int]):
    """Class c is of gang c; the last one is of none that is a group."""
    found = listed(priority, gang=[0, 1, 2, 3], groups=[2, 1, 0])
    assert found == expected
    assert [*found] == [*expected]


def test_a_group_is_as_important_as_the_most_important_of_its_classes():
    found = listed([1, 5, 9], gang=[0, 1, 0], groups=[0, 1])
    assert [*found.items()] == [(0, 9), (1, 5)]


def test_one_of_which_nobody_waits_comes_last():
    assert [*listed([4], gang=[1], groups=[0, 1]).items()] == [(1, 4), (0, -1)]


def listed(priority: list[int], *, gang: list[int], groups: list[int]) -> dict[int, int]:
    count = len(priority)
    posed = problem(tasks=[1] * count, requests=[[1]] * count, free=[[9]], priority=priority)
    nothing = np.empty(0, dtype=np.int64)
    of = {number: TreeGroup(str(number), 1, (), nothing, nothing) for number in groups}
    terms = GroupTerms(full_tree(("node",), (1,)), ExactSolver(), of, ints(0))
    return _list_priorities(replace(posed, gang=ints(*gang)), terms)
