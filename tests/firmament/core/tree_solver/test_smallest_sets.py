"""The smallest set of constraints without which a search succeeds, for searches whose answer is known."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations

import pytest

from firmament.core.tree_solver.nested.shortages.smallest_sets import find_smallest_set
from tests.support.effort import examples


class Search:
    """A search that succeeds once some constraint of each conflict is dropped; counts how often it is asked."""

    def __init__(self, *conflicts: Sequence[int]) -> None:
        self.conflicts = conflicts
        self.asked = 0

    def helps(self, dropped: Sequence[int]) -> bool:
        self.asked += 1
        return all(any(each in dropped for each in conflict) for conflict in self.conflicts)


def draw_conflicts(draw: random.Random, count: int) -> list[list[int]]:
    return [draw.sample(range(count), draw.randint(1, min(3, count))) for _ in range(draw.randint(1, 4))]


@pytest.mark.parametrize("seed", range(examples(200)))
def test_no_smaller_set_would_do(seed):
    draw = random.Random(seed)
    count = draw.randint(1, 7)
    search = Search(*draw_conflicts(draw, count))
    found = find_smallest_set(
        count, search.helps, tuple, 1_000, draw.sample(range(count), draw.randint(0, 1))
    )
    assert search.helps(found.members)
    assert not any(
        search.helps(some) for size in range(len(found.members)) for some in combinations(range(count), size)
    )
    assert found.alone == {conflict[0] for conflict in search.conflicts if len(conflict) == 1}


@pytest.mark.parametrize("seed", range(examples(200)))
def test_with_few_tests_none_of_a_set_can_be_left_out(seed):
    draw = random.Random(f"few {seed}")
    count = draw.randint(20, 40)
    search = Search(*(draw.sample(range(count), 3) for _ in range(4)))
    found = find_smallest_set(count, search.helps, tuple, 30)
    assert search.asked <= 60
    assert search.helps(found.members)
    assert not any(search.helps([each for each in found.members if each != one]) for one in found.members)


def test_sets_that_are_alike_are_tried_once():
    """Of forty equal constraints three have to go."""
    asked = []

    def helps(dropped: Sequence[int]) -> bool:
        asked.append(dropped)
        return len(dropped) >= 3

    found = find_smallest_set(40, helps, len, 10)
    assert len(found.members) == 3
    assert len(asked) == 4


def test_a_set_that_is_likely_is_what_is_left_if_no_further_test_is_allowed():
    search = Search([3], [5])
    assert find_smallest_set(50, search.helps, tuple, 1, (3, 5)).members == (3, 5)
