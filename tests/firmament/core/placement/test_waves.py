"""Rounds with rules between tasks: waves that see each other."""

from __future__ import annotations

from collections import Counter

import pytest

from firmament.core.board.board import Board
from firmament.core.constraints.ruleset import Attraction, ClassRules, Exclusion, Inclination
from firmament.core.flow.problem import PlacementProblem
from firmament.core.placement.outcome import Means, PassOptions, Placed
from firmament.core.placement.waves import most_per_machine, place_in_waves, plan_wave
from firmament.core.reasons import Reason
from firmament.solvers.base import FlowProblem, FlowSolution, SolverTimeoutError
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.core.placement.rules import Units, apart, broken, ruled, together, units
from tests.support.rules import counter, ints, soft_spreading, spreading, state
from tests.support.tuning import PLACING

ZONE = [0, 0, 1, 1, 2, 2]
HOST = [0, 1, 2, 3, 4, 5]
FREE = [[9]] * 6


def in_waves(given: PlacementProblem, options: PassOptions | None = None) -> tuple[Units, Placed]:
    """Placements, each of which is valid when it is made, and what it took."""
    at_start = Board(given)
    placing = place_in_waves(at_start, Means(OrToolsSolver(), options or PassOptions()))
    found = units(placing.assignments)
    assert broken(given, found) == []
    return found, placing


def planned(given: PlacementProblem, *, first: bool = True) -> list[tuple[list[int], int, int]]:
    """Bundles of the first wave: classes, tasks, and most per machine."""
    wave = plan_wave(Board(given), PLACING.pinned_up_to, first=first)
    if wave is None:
        return []
    made = wave.residual.problem
    return [
        ([part.cls for part in parts], int(made.counts[index].sum()), made.most.get(index, 0))
        for index, parts in enumerate(wave.bundles)
    ]


# --- planning --------------------------------------------------------------------------------------------------------


def test_classes_whose_rules_let_them_go_nowhere_sit_out():
    follower = ClassRules(attraction=Attraction((0,), own=False, reason=Reason.NOT_NEAR))
    given = ruled(
        [counter(ZONE)],
        {0: follower, 1: ClassRules(adds=(0,))},
        tasks=[2, 1, 1],
        requests=[[1]] * 3,
        free=FREE,
    )
    assert [classes for classes, _, _ in planned(given)] == [[1], [2]]
    assert planned(ruled([counter(ZONE)], {0: follower}, tasks=[2], requests=[[1]], free=FREE)) == []
    assert planned(ruled([], {}, tasks=[0], requests=[[1]], free=FREE)) == []
    assert planned(ruled([counter([], [0])], {0: apart(0)}, tasks=[2], requests=[[1]], free=[])) == []


def test_classes_are_dealt_out_by_priority_and_wait():
    rules = {cls: apart(0) for cls in range(3)}
    given = ruled(
        [counter([0] * 6)],
        rules,
        tasks=[1, [1, 0, 0, 0], 1],
        requests=[[1]] * 3,
        free=FREE,
        priority=[0, 0, 0],
    )
    assert planned(given) == [([1], 1, 1)]
    given.priority[2] = 1
    assert planned(given) == [([2], 1, 1)]


@pytest.mark.parametrize(
    ("own", "tasks", "first", "expected"),
    [
        (ClassRules(adds=(1,)), 20, True, 0),
        (apart(1), 20, True, 1),
        (apart(0), 2, True, 1),
        # 20 tasks on 6 machines: 4 each, and what the skew allows
        (ClassRules(adds=(1,), spreadings=(spreading(1, HOST, max_skew=1),)), 20, True, 4),
        (ClassRules(adds=(1,), spreadings=(spreading(1, HOST, max_skew=3),)), 20, False, 6),
        (ClassRules(spreadings=(spreading(1, HOST, own=0),)), 20, True, 0),
        (ClassRules(adds=(0,), spreadings=(spreading(0, ZONE),)), 20, True, 0),
        (ClassRules(adds=(1,), soft_spreadings=(soft_spreading(1, HOST),)), 20, True, 4),
        (ClassRules(adds=(1,), soft_spreadings=(soft_spreading(1, HOST),)), 20, False, 0),
        (ClassRules(adds=(1,), inclinations=(Inclination(1, -5),)), 20, True, 4),
        (ClassRules(adds=(1,), inclinations=(Inclination(1, 5),)), 20, True, 0),
        (ClassRules(adds=(0,), inclinations=(Inclination(0, -5),)), 20, True, 0),
        (ClassRules(inclinations=(Inclination(1, -5),)), 20, True, 0),
    ],
)
def test_tasks_of_a_class_that_one_machine_should_get(
    own: ClassRules, tasks: int, first: bool, expected: int
):
    given = state([counter(ZONE), counter(HOST)], {0: own})
    assert most_per_machine(given, 0, tasks, 6, first=first) == expected


def test_no_machines_set_no_limit_to_nothing():
    given = state([counter(HOST)], {0: ClassRules(adds=(0,), soft_spreadings=(soft_spreading(0, HOST),))})
    assert most_per_machine(given, 0, 5, 0, first=True) == 5


# --- waves -----------------------------------------------------------------------------------------------------------


def test_one_wave_is_enough_where_all_can_be_dealt_out():
    given = ruled([counter(HOST)], {0: apart(0)}, tasks=[6], requests=[[1]], free=FREE)
    found, placing = in_waves(given)
    assert sorted(found) == [(0, machine) for machine in HOST]
    assert placing.figures.waves == 1


def test_many_applications_that_spread_over_hosts_are_one_class_of_the_network():
    rules = {cls: apart(cls) for cls in range(20)}
    given = ruled([counter(HOST) for _ in rules], rules, tasks=[3] * 20, requests=[[1]] * 20, free=[[20]] * 6)
    given.shape[:] = 0
    assert len(planned(given)) == 1
    found, placing = in_waves(given)
    assert len(found) == 60
    assert placing.figures.waves == 1


def test_followers_come_in_a_wave_of_their_own():
    rules = {
        0: ClassRules(attraction=Attraction((0,), own=False, reason=Reason.NOT_NEAR)),
        1: ClassRules(adds=(0,)),
    }
    given = ruled([counter(ZONE)], rules, tasks=[4, 1], requests=[[1]] * 2, free=FREE)
    found, placing = in_waves(given)
    assert [cls for cls, _ in found] == [1, 0, 0, 0, 0]
    assert placing.figures.waves == 2


def test_spread_over_zones_within_the_skew():
    rule = ClassRules(adds=(0,), spreadings=(spreading(0, ZONE),))
    given = ruled([counter(ZONE, [2, 0, 0])], {0: rule}, tasks=[7], requests=[[1]], free=FREE)
    found, _ = in_waves(given)
    assert Counter(ZONE[machine] for _, machine in found) == {0: 1, 1: 3, 2: 3}


def test_costs_decide_within_a_domain():
    given = ruled(
        [counter(ZONE)], {0: apart(0)}, tasks=[3], requests=[[1]], free=FREE, cost=[[5, 4, 4, 5, 1, 0]]
    )
    assert sorted(in_waves(given)[0]) == [(0, 1), (0, 2), (0, 5)]


def test_priorities_are_kept_where_two_classes_exclude_each_other():
    rules = {
        cls: ClassRules(adds=(cls,), exclusions=(Exclusion(1 - cls, Reason.TOO_NEAR),)) for cls in range(2)
    }
    given = ruled([counter([0] * 6)] * 2, rules, tasks=[3, 3], requests=[[1]] * 2, free=FREE, priority=[0, 1])
    assert {cls for cls, _ in in_waves(given)[0]} == {1}


def test_a_group_is_together_and_whole_where_it_fits():
    given = ruled(
        [counter(ZONE)], {0: together(0)}, tasks=[8], requests=[[1]], free=[[2], [2], [5], [5], [9], [0]]
    )
    found, _ = in_waves(given)
    assert len(found) == 8
    assert {ZONE[machine] for _, machine in found} == {1}


def test_waves_end_and_single_tasks_follow():
    rules = {
        cls: ClassRules(adds=(cls + 1,), attraction=Attraction((cls,), own=False, reason=Reason.NOT_NEAR))
        for cls in range(5)
    }
    counters = [counter(ZONE, [1, 0, 0]), *(counter(ZONE) for _ in rules)]
    given = ruled(counters, rules, tasks=[1] * 5, requests=[[1]] * 5, free=FREE)
    found, placing = in_waves(given, PassOptions(max_waves=2))
    assert [cls for cls, _ in found] == [0, 1, 2, 3, 4]
    assert placing.figures.waves == 2


# --- time ------------------------------------------------------------------------------------------------------------


class OutOfTime:
    """A solver without time."""

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        """As `Solver`."""
        raise SolverTimeoutError("out of time")


def test_without_time_tasks_are_placed_one_by_one():
    given = ruled([counter(ZONE)], {0: apart(0)}, tasks=[5, 2], requests=[[1]] * 2, free=FREE)
    at_start = Board(given)
    placing = place_in_waves(at_start, Means(OutOfTime()))
    found = units(placing.assignments)
    assert broken(given, found) == []
    assert Counter(cls for cls, _ in found) == {0: 3, 1: 2}
    assert placing.figures.time_limited
    assert placing.figures.waves == 0


def test_equal_problems_give_equal_placements():
    rule = ClassRules(adds=(0,), spreadings=(spreading(0, ZONE, max_skew=2),))
    given = ruled([counter(ZONE)], {0: rule, 1: apart(0)}, tasks=[5, 2], requests=[[1], [2]], free=FREE)
    assert in_waves(given)[0] == in_waves(given)[0]
    assert given.counts.sum() == 7
    assert given.free.tolist() == FREE
    assert given.rules.counters[0].start.tolist() == ints(0, 0, 0).tolist()
