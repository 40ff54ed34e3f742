"""What waves have left is placed task by task, until nothing that waits fits anywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firmament.core.board.board import Board
from firmament.core.constraints.ruleset import Attraction, ClassRules, Exclusion, Inclination
from firmament.core.flow.problem import PlacementProblem
from firmament.core.placement.passes import (
    cheapest_machine,
    place_leftovers,
)
from firmament.core.reasons import Reason
from tests.firmament.core.placement.rules import Units, apart, broken, proposed, ruled, units
from tests.support.rules import counter, ints, spreading

ZONE = [0, 0, 1, 1]
FREE = [[9]] * 4


def left_over(given: PlacementProblem) -> Units:
    """Placements in order, valid one after another, after which nothing that waits fits anywhere."""
    state = Board(given)
    found = units(place_leftovers(state))
    assert broken(given, found) == []
    for cls in state.residual.active().tolist():
        assert not state.find_fitting(cls, paired=False).any()
    return found


def test_nothing_is_left():
    state = Board(ruled([], {}, tasks=[0], requests=[[1]], free=FREE))
    assert units(place_leftovers(state)) == []


def test_no_machines():
    assert left_over(ruled([counter([], [0])], {0: apart(0)}, tasks=[2], requests=[[1]], free=[])) == []


def test_each_task_goes_where_it_costs_least_crowding_included():
    given = ruled([], {}, tasks=[4], requests=[[1]], free=FREE, cost=[[5, 0, 9, 7]], crowd=3)
    assert left_over(given) == [(0, 1), (0, 1), (0, 0), (0, 1)]  # 0, 3, 5, 6


def test_rules_pins_and_filters_are_kept():
    given = ruled(
        [counter(ZONE)],
        {0: apart(0)},
        tasks=[4],
        requests=[[1]],
        free=FREE,
        pins={0: [0, 1, 3]},
        feasible=[[False, True, True, True]],
    )
    assert sorted(left_over(given)) == [(0, 1), (0, 3)]


def test_placements_may_open_the_way_for_classes_before_them():
    rules = {
        0: ClassRules(attraction=Attraction((0,), own=False, reason=Reason.NOT_NEAR)),
        1: ClassRules(adds=(0,), exclusions=(Exclusion(1, Reason.TOO_NEAR),)),
        2: ClassRules(adds=(1,)),
    }
    given = ruled(
        [counter(ZONE), counter(ZONE, [1, 0])], rules, tasks=[2, 1, 0], requests=[[1]] * 3, free=FREE
    )
    assert left_over(given) == [(1, 2), (0, 2), (0, 2)]


def test_a_fuller_emptiest_domain_opens_others():
    spread = ClassRules(adds=(0,), spreadings=(spreading(0, ZONE),))
    given = ruled(
        [counter(ZONE, [1, 0])],
        {0: spread, 1: ClassRules(adds=(0,))},
        tasks=[1, 1],
        requests=[[1]] * 2,
        free=FREE,
    )
    pinned = replace(given, pins={0: ints(0), 1: ints(3)})
    assert left_over(pinned) == [(1, 3), (0, 0)]


def test_the_most_important_come_first_then_the_longest_waiting():
    given = ruled([], {}, tasks=[1, [1, 0, 0, 0], 1], requests=[[1]] * 3, free=[[2]], priority=[0, 0, 1])
    assert left_over(given) == [(2, 0), (1, 0)]


def test_preferences_have_a_say():
    likes = {0: ClassRules(inclinations=(Inclination(0, 10),))}
    given = ruled([counter(ZONE, [0, 1])], likes, tasks=[1], requests=[[1]], free=FREE, cost=[[0, 0, 9, 5]])
    state = Board(given)
    assert cheapest_machine(state, 0) == 3


def test_the_first_of_equal_machines_is_taken_and_none_where_there_is_no_place():
    state = Board(ruled([counter(ZONE)], {0: apart(0)}, tasks=[3], requests=[[1]], free=FREE))
    assert cheapest_machine(state, 0) == 0
    state.residual.book_assignments(proposed((0, 0)))
    state.rules.add(0, 0)
    assert cheapest_machine(state, 0) == 2
    state.residual.book_assignments(proposed((0, 2)))
    state.rules.add(0, 2)
    assert cheapest_machine(state, 0) is None
    assert np.flatnonzero(state.find_fitting(0, paired=False)).tolist() == []
    assert state.rules.counts[0].tolist() == [1, 1]
    assert state.residual.free.tolist() == [[8, 9, 8, 9]]
