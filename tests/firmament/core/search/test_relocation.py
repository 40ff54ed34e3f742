"""Tasks left over find places that others of the round make for them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.board.board import Board
from firmament.core.constraints.ruleset import Attraction, ClassRules, Exclusion
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.placement.passes import place_leftovers
from firmament.core.reasons import Reason
from firmament.core.search.arrangement import TaskArrangement
from firmament.core.search.driver import SearchBudget, search
from firmament.core.search.moves.eject import EjectTasks
from firmament.core.search.relocation import relocate_tasks
from tests.firmament.core.placement.rules import Units, broken, proposed, ruled, units
from tests.support.effort import examples
from tests.support.rules import counter, spreading
from tests.support.tuning import PLACING

ZONE = [0, 0, 1, 1]
FREE = [[9]] * 4


def better(made: PlacementProblem, *placed: tuple[int, int], seed: int = 0) -> Units:
    found = units(relocate_tasks(made, proposed(*placed), seed, tuning=PLACING.relocation, log=[]))
    assert broken(made, found) == []
    return found


# --- searching -------------------------------------------------------------------------------------------------------


def test_somebody_moves_over():
    made = ruled([], {}, tasks=[1, 1], requests=[[4], [6]], free=[[6], [5]])
    assert sorted(better(made, (0, 0))) == [(0, 1), (1, 0)]


def test_whoever_keeps_a_task_off_goes_elsewhere():
    rules = {
        cls: ClassRules(adds=(cls,), exclusions=(Exclusion(1 - cls, Reason.TOO_NEAR),)) for cls in range(2)
    }
    made = ruled([counter(ZONE)] * 2, rules, tasks=[1, 1], requests=[[1]] * 2, free=FREE, pins={1: [0]})
    found = dict(better(made, (0, 1)))
    assert found.keys() == {0, 1}
    assert ZONE[found[0]] == 1


def test_whoever_keeps_a_task_off_by_a_rule_is_moved_alone():
    """Without placing all tasks anew."""
    rules = {
        cls: ClassRules(adds=(cls,), exclusions=(Exclusion(1 - cls, Reason.TOO_NEAR),)) for cls in range(2)
    }
    made = ruled([counter(ZONE)] * 2, rules, tasks=[1, 1], requests=[[1]] * 2, free=FREE, pins={1: [0]})
    arrangement = TaskArrangement(made, proposed((0, 1)), 0, PLACING.relocation)
    search(EjectTasks(arrangement), SearchBudget(100))
    found = dict(units(arrangement.best))
    assert found[1] == 0
    assert ZONE[found[0]] == 1


def test_a_group_moves_to_where_all_of_it_fits():
    own = ClassRules(adds=(0,), attraction=Attraction((0,), own=True, reason=Reason.NOT_NEAR))
    made = ruled([counter(ZONE)], {0: own}, tasks=[4], requests=[[1]], free=[[1], [1], [2], [2]])
    assert Counter(ZONE[machine] for _, machine in better(made, (0, 0), (0, 1))) == {1: 4}


def test_what_cannot_be_bettered_stays_as_it_is():
    made = ruled([], {}, tasks=[3], requests=[[4]], free=[[6], [5]])
    given_placed = proposed((0, 1), (0, 0))
    assert relocate_tasks(made, given_placed, 0, tuning=PLACING.relocation, log=[]) is given_placed


def test_nothing_can_be_placed():
    made = ruled([], {}, tasks=[3], requests=[[4]], free=[[1], [1]])
    assert units(relocate_tasks(made, Assignments.empty(), 0, tuning=PLACING.relocation, log=[])) == []


def test_large_rounds_are_left_as_they_are():
    made = ruled([], {}, tasks=[PLACING.relocation.most_tasks, 1], requests=[[0], [6]], free=[[6], [5]])
    given_placed = proposed((0, 0))
    assert relocate_tasks(made, given_placed, 0, tuning=PLACING.relocation, log=[]) is given_placed


@pytest.mark.parametrize("important", [0, 1])
def test_more_important_tasks_are_not_given_up_for_more_tasks(important: int):
    ranks = [important, 1 - important]
    made = ruled([], {}, tasks=[1, 3], requests=[[6], [2]], free=[[6]], priority=ranks)
    start = [(0, 0)] if important else [(1, 0)] * 3
    assert better(made, *start) == start


def test_a_less_important_task_gives_way():
    made = ruled([], {}, tasks=[1, 2], requests=[[6], [3]], free=[[6]], priority=[1, 0])
    assert better(made, (1, 0), (1, 0)) == [(0, 0)]


def random_problem(seed: int) -> PlacementProblem:
    """A few classes with rules on four machines, tight enough that some stay out."""
    rnd = random.Random(seed)
    classes = rnd.randint(2, 4)
    counters = [counter(rnd.choice([ZONE, [0, 1, 2, 3]])) for _ in range(classes)]
    of = {}
    for cls in range(classes):
        other = rnd.randrange(classes)
        of[cls] = ClassRules(
            adds=(cls,),
            exclusions=(Exclusion(other, Reason.TOO_NEAR),) if rnd.random() < 0.4 else (),
            attraction=Attraction((other,), own=other == cls, reason=Reason.NOT_NEAR)
            if rnd.random() < 0.3
            else None,
            spreadings=(spreading(cls, counters[cls].domain.tolist()),) if rnd.random() < 0.3 else (),
        )
    return ruled(
        counters,
        of,
        tasks=[rnd.randint(1, 3) for _ in range(classes)],
        requests=[[rnd.randint(1, 4)] for _ in range(classes)],
        free=[[rnd.randint(2, 6)] for _ in range(4)],
        priority=sorted(rnd.randint(0, 1) for _ in range(classes)) if rnd.random() < 0.5 else None,
    )


@settings(max_examples=examples(60))
@given(st.integers(0, 10_000))
def test_random_placements_get_no_worse_and_stay_valid(seed: int):
    made = random_problem(seed)
    made = replace(made, priority=made.priority - made.priority.min())
    before = place_leftovers(Board(made))
    after = relocate_tasks(made, before, seed, tuning=PLACING.relocation, log=[])
    assert broken(made, units(after)) == []

    def by_rank(placed: Assignments) -> list[int]:
        counts = Counter(int(made.priority[cls]) for cls, _ in units(placed))
        return [counts[1], counts[0]]

    assert by_rank(after) >= by_rank(before)
    assert units(relocate_tasks(made, before, seed, tuning=PLACING.relocation, log=[])) == units(after)
