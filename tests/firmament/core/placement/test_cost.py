"""The one definition of what a placement costs."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.flow.network.network import compute_unscheduled_penalties, dearest_path
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.placement.cost import compute_placed_cost, pending_cost, placement_cost
from tests.support.core import problem


def assigned(*triples: tuple[int, int, int]) -> Assignments:
    cls, machine, count = np.array(triples, dtype=np.int64).reshape(-1, 3).T
    return Assignments(cls, machine, count)


def given() -> PlacementProblem:
    return problem(
        tasks=[4, [1, 0, 0, 2]],
        requests=[[1], [1]],
        free=[[9], [9]],
        cost=[[5, 7], [11, 13]],
        crowd=[100, 1_000],
    )


def test_models_charge_each_task_and_crowding_each_for_those_before_it():
    # Machine 0: 2 x 5 + 11, and 0 + 100 + 200; machine 1: 7, and nothing.
    assert compute_placed_cost(given(), assigned((0, 0, 2), (1, 0, 1), (0, 1, 1))) == 21 + 300 + 7


def test_it_does_not_matter_how_a_placement_is_written_down():
    once = compute_placed_cost(given(), assigned((0, 0, 3)))
    assert once == compute_placed_cost(given(), assigned((0, 0, 1), (0, 0, 2))) == 15 + 300


@pytest.mark.parametrize(("tasks", "crowding"), [(1, 0), (2, 0), (3, 2), (4, 4), (5, 8), (6, 12), (7, 18)])
def test_crowding_in_wide_steps(tasks: int, crowding: int):
    # 80 tasks on two machines: the crowding counts in steps of two, each task pays 2 x (tasks before // 2).
    wide = problem(tasks=[80], requests=[[1]], free=[[100], [100]], crowd=1)
    assert wide.crowd_step() == 2
    assert compute_placed_cost(wide, assigned((0, 0, tasks))) == crowding


def test_what_stays_pending_pays_its_penalty_the_latest_first():
    problem_ = given()
    residual = Residual(problem_)
    penalty = compute_unscheduled_penalties(residual, dearest_path(residual))
    everything = 4 * penalty[0, 3] + penalty[1, 0] + 2 * penalty[1, 3]
    assert pending_cost(problem_, assigned()) == everything
    # The first of class 1 to be placed is the one that has waited longest.
    assert pending_cost(problem_, assigned((1, 0, 1))) == everything - penalty[1, 0]
    assert pending_cost(problem_, assigned((1, 0, 2), (0, 1, 4))) == penalty[1, 3]


def test_total_cost_is_the_sum():
    placement = assigned((0, 0, 2))
    assert placement_cost(given(), placement) == compute_placed_cost(given(), placement) + pending_cost(
        given(), placement
    )


def test_placing_a_task_always_pays():
    one_more = [assigned((0, 0, count)) for count in range(5)]
    costs = [placement_cost(given(), placement) for placement in one_more]
    assert costs == sorted(costs, reverse=True)
