"""Places of one gang with rules between its tasks, depth-first: against trying all ways to distribute them."""

from __future__ import annotations

import random
from collections import Counter
from itertools import permutations, product

import pytest

from firmament.core.board.board import Board
from firmament.core.constraints.ruleset import Attraction, ClassRules, Exclusion
from firmament.core.flow.problem import PlacementProblem
from firmament.core.placement.gang_search import GangSearch
from firmament.core.reasons import Reason
from tests.firmament.core.placement.rules import apart, broken, ruled, together, units
from tests.support.core import problem
from tests.support.effort import examples
from tests.support.rules import counter


def find(
    made: PlacementProblem, wanted: dict[int, int], steps: int = 1_000
) -> Counter[tuple[int, int]] | None:
    """How many tasks of each class go to each machine; checks that this is allowed in some order."""
    found = GangSearch(Board(made), steps).find(wanted)
    if found is None:
        return None
    assert Counter({cls: int(found.count[found.cls == cls].sum()) for cls in wanted}) == Counter(wanted)
    assert broken(made, units(found)) == []
    return Counter(units(found))


def test_the_class_with_the_fewest_machines_chooses_first():
    made = problem(tasks=[1, 1], requests=[[4], [6]], free=[[6], [5]])
    assert find(made, {0: 1, 1: 1}, steps=2) == {(1, 0): 1, (0, 1): 1}


def test_machines_with_little_room_are_filled_first():
    made = problem(tasks=[3], requests=[[2]], free=[[9], [3], [5]])
    assert find(made, {0: 3}) == {(0, 1): 1, (0, 2): 2}


def test_a_choice_after_which_the_others_find_nothing_is_taken_back():
    """The first zone has room for one of them, and the machine with least room is there."""
    made = ruled([counter([0, 1, 1])], {0: together(0)}, tasks=[2], requests=[[1]], free=[[1], [2], [2]])
    found = find(made, {0: 2})
    assert found is not None
    assert {machine for _, machine in found} <= {1, 2}


def test_each_try_takes_a_step_and_the_search_ends_without_them():
    made = ruled([counter([0, 1, 2])], {0: apart(0)}, tasks=[3], requests=[[1]], free=[[1]] * 3)
    search = GangSearch(Board(made), 3)
    assert search.find({0: 3}) is not None
    assert search.steps == 0
    assert GangSearch(Board(made), 2).find({0: 3}) is None
    full = GangSearch(Board(made), 50)
    assert full.find({0: 4}) is None
    assert full.steps == 50 - (3 + 3 + 1), "all sets of one, two and three machines, none of them twice"


@pytest.mark.parametrize("seed", range(examples(150)))
def test_a_gang_is_placed_wherever_it_can_be(seed: int):
    draw = random.Random(seed)
    zones = counter([0, 1, 1])
    of = {}
    for cls in range(2):
        other = draw.randrange(2)
        of[cls] = ClassRules(
            adds=(cls,),
            exclusions=(Exclusion(other, Reason.TOO_NEAR),) if draw.random() < 0.4 else (),
            attraction=Attraction((other,), own=other == cls, reason=Reason.NOT_NEAR)
            if draw.random() < 0.4
            else None,
        )
    wanted = {0: draw.randint(1, 2), 1: draw.randint(1, 2)}
    made = ruled(
        [counter([0, 1, 2]), zones],
        of,
        tasks=[*wanted.values()],
        requests=[[draw.randint(1, 3)] for _ in range(2)],
        free=[[draw.randint(0, 4)] for _ in range(3)],
    )
    tasks = [cls for cls, count in wanted.items() for _ in range(count)]
    possible = any(
        not broken(made, [*zip(order, where, strict=True)])
        for order in sorted({*permutations(tasks)})
        for where in product(range(3), repeat=len(tasks))
    )
    assert (find(made, wanted) is not None) == possible
