"""What a placement costs, and that no other placement costs less than a certified one.

What holds for the number of tasks placed: a certified bound is below the cost of every placement, because a flow is
held to fewer limits than a placement. If admission refuses nothing of the first flow, the placement meets the bound,
so it is the cheapest there is, and, as a pending task costs more than any gain by leaving it, also places the
most tasks that can be placed. If admission refuses something, only two things are promised: the result breaks
no limit and is maximal, i.e. none of the tasks left would fit beside those placed.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.placement.cost import compute_placed_cost, placement_cost
from firmament.core.placement.outcome import Means, PassOptions, Placed
from firmament.core.placement.placing import place_by_priority
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.oracle.network import cost_by_ortools, full_network
from tests.oracle.placement import PlainProblem
from tests.support.effort import examples
from tests.support.histories.problems import SEEDS, as_dict, penalties_of, placement_problem, plain

SIZES = {"seed": SEEDS, "classes": st.integers(1, 4), "machines": st.integers(1, 5), "joint": st.booleans()}


def place(problem: PlacementProblem, options: PassOptions | None = None) -> tuple[Assignments, Placed]:
    placing, _ = place_by_priority(problem, Means(OrToolsSolver(), options or PassOptions()))
    return placing.assignments, placing


def check_maximal(model: PlainProblem, placement: dict[tuple[int, int], int]) -> None:
    """Nothing is broken, and one more task of any class on any machine would break something."""
    assert model.violated(placement) == []
    for cls in model.active:
        for machine in model.machines:
            if model.units(cls, machine):
                wider = {**placement, (cls, machine): placement.get((cls, machine), 0) + 1}
                assert model.violated(wider) != [], f"one more of class {cls} fits machine {machine}"


@settings(max_examples=examples(150))
@given(**SIZES)
def test_cost_is_the_sum_over_tasks(seed: int, classes: int, machines: int, joint: bool):
    problem = placement_problem(seed, classes, machines, joint=joint)
    model, penalties = plain(Residual(problem)), penalties_of(Residual(problem))
    placed, _ = place(problem)
    assert placement_cost(problem, placed) == model.total_cost(as_dict(placed), penalties)
    assert placement_cost(problem, Assignments.empty()) == model.total_cost({}, penalties)
    assert compute_placed_cost(problem, Assignments.empty()) == 0


@settings(max_examples=examples(60))
@given(seed=SEEDS, classes=st.integers(1, 3), machines=st.integers(1, 2))
def test_cost_is_the_sum_over_tasks_where_crowding_goes_in_wide_steps(seed: int, classes: int, machines: int):
    problem = placement_problem(seed, classes, machines, tasks=40, roomy=True)
    problem.free[:, 0] *= 12
    placed, _ = place(problem)
    model, penalties = plain(Residual(problem)), penalties_of(Residual(problem))
    assert placement_cost(problem, placed) == model.total_cost(as_dict(placed), penalties)


@settings(max_examples=examples(120))
@given(seed=SEEDS, classes=st.integers(1, 5), machines=st.integers(1, 6))
def test_where_admission_refuses_nothing_the_cost_is_the_full_networks(
    seed: int, classes: int, machines: int
):
    problem = placement_problem(seed, classes, machines, roomy=True)
    placed, placing = place(problem)
    start = Residual(problem)
    arcs, supply = full_network(plain(start), penalties_of(start))
    if placing.figures.waves == 1:
        assert placement_cost(problem, placed) == cost_by_ortools(arcs, supply)
    assert placement_cost(problem, placed) >= cost_by_ortools(arcs, supply)


@settings(max_examples=examples(150))
@given(**SIZES)
@pytest.mark.parametrize("passes", [8, 1, 0])
def test_placement_is_maximal_and_not_below_the_bound(
    seed: int, classes: int, machines: int, joint: bool, passes: int
):
    problem = placement_problem(seed, classes, machines, joint=joint)
    placed, placing = place(problem, PassOptions(max_passes=passes))
    check_maximal(plain(Residual(problem)), as_dict(placed))
    if placing.first is not None and placing.first.outcome.certified:
        assert placement_cost(problem, placed) >= placing.first.outcome.bound


@settings(max_examples=examples(250))
@given(seed=SEEDS, classes=st.integers(1, 3), machines=st.integers(1, 3), joint=st.booleans())
def test_no_placement_is_cheaper_than_one_that_meets_the_bound(
    seed: int, classes: int, machines: int, joint: bool
):
    problem = placement_problem(seed, classes, machines, tasks=1, joint=joint)
    if problem.counts.sum() > 6:
        problem.counts[:, 1:] = 0
    placed, placing = place(problem)
    if placing.first is None:
        assert len(placed.cls) == 0
        return
    assert placing.first.outcome.certified
    model, penalties = plain(Residual(problem)), penalties_of(Residual(problem))
    every = [(model.total_cost(other, penalties), sum(other.values())) for other in model.placements()]
    assert placing.first.outcome.bound <= min(every)[0]
    cost = placement_cost(problem, placed)
    event("meets the bound" if cost == placing.first.outcome.bound else "above the bound")
    if cost == placing.first.outcome.bound:
        assert cost == min(every)[0]
        assert int(placed.count.sum()) == max(count for _, count in every)


def test_crowding_and_waiting_by_hand():
    problem = PlacementProblem(
        counts=np.array([[1, 0, 0, 2]]),
        priority=np.array([0]),
        shape=np.array([0]),
        requests=np.array([[1]]),
        feasible=np.ones((1, 1), dtype=np.bool_),
        cost=np.array([[10]], dtype=np.int32),
        crowd=np.array([7]),
        free=np.array([[2]]),
    )
    placed = Assignments(np.array([0]), np.array([0]), np.array([2]))
    # Two tasks at 10, the second of which pays 7 for the first; one of the two that have waited least stays.
    assert compute_placed_cost(problem, placed) == 10 + 10 + 7
    least_wait = penalties_of(Residual(problem))[0][3]
    assert placement_cost(problem, placed) == 27 + least_wait


def test_problem_of_one_machine_is_not_written_to():
    problem = placement_problem(seed=5, classes=3, machines=1, roomy=True)
    before = problem.free.copy()
    placed, _ = place(problem)
    assert placed.count.sum() > 0
    assert np.array_equal(problem.free, before)


def test_nobody_is_left_out_to_save_the_cost_of_others_moving():
    """The last class fits the first machine only; taking it pushes each of the others on to a dearer machine."""
    problem = PlacementProblem(
        counts=np.array([[0, 0, 0, 1]] * 4),
        priority=np.zeros(4, dtype=np.int64),
        shape=np.arange(4),
        requests=np.ones((4, 1), dtype=np.int64),
        feasible=np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 0]], dtype=np.bool_),
        cost=np.array([[0, 100, 0, 0], [0, 0, 100, 0], [0, 0, 0, 100], [100, 0, 0, 0]], dtype=np.int32),
        crowd=np.zeros(4, dtype=np.int64),
        free=np.ones((4, 1), dtype=np.int64),
    )
    placed, _ = place(problem)
    assert as_dict(placed) == {(0, 1): 1, (1, 2): 1, (2, 3): 1, (3, 0): 1}
