"""Passes: solve, admit, repeat; and what happens when that must stop early."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cost_models.interface import JointRows
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.placement.outcome import Means, PassOptions, Placed
from firmament.core.placement.passes import _nearly_done, place_all, place_greedily, solve_in_turn
from firmament.core.placement.placing import place_by_priority
from firmament.solvers.base import FlowProblem, FlowSolution, SolverError, SolverTimeoutError
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import problem
from tests.support.rules import ints


class Failing(OrToolsSolver):
    """Raises an error once it has done some solves."""

    def __init__(self, error: Exception, after: int = 0) -> None:
        self.error = error
        self.left = after
        self.limits: list[float | None] = []

    def solve(self, problem: FlowProblem, *, time_limit: float | None = None) -> FlowSolution:
        self.limits.append(time_limit)
        if self.left == 0:
            raise self.error
        self.left -= 1
        return super().solve(problem, time_limit=time_limit)


def misfits(classes: int = 6, machines: int = 10, seed: int = 1) -> PlacementProblem:
    """Tasks of two complementary resources: a flow of single units cannot see which go together."""
    random = np.random.default_rng(seed)
    return problem(
        tasks=random.integers(2, 9, classes).tolist(),
        requests=random.integers(1, 6, (classes, 2)).tolist(),
        free=random.integers(0, 14, (machines, 2)).tolist(),
        cost=random.integers(0, 100, (classes, machines)).tolist(),
        feasible=(random.random((classes, machines)) < 0.9).tolist(),
        crowd=3,
    )


def rivals() -> PlacementProblem:
    """Two tasks that like the same machine, which either fits, but not both."""
    return problem(tasks=[1, 1], requests=[[6, 1], [1, 6]], free=[[6, 6], [6, 6]], cost=[[0, 9], [0, 9]])


def assert_sound(given: PlacementProblem, placed: Assignments) -> None:
    """Nothing is overfilled, placed twice, placed where it may not go, or left out although it would fit."""
    left = given.free.copy()
    shapes = given.shape[placed.cls]
    np.subtract.at(left, placed.machine, given.requests[shapes] * placed.count[:, None])
    assert (left >= np.minimum(given.free, 0)).all()
    assert given.feasible[shapes, placed.machine].all()
    number = np.bincount(placed.cls, weights=placed.count, minlength=given.classes)
    waiting = given.counts.sum(axis=1)
    assert (number <= waiting).all()
    for cls in np.flatnonzero(number < waiting).tolist():
        shape = int(given.shape[cls])
        would_fit = (left >= given.requests[shape]).all(axis=1) & given.feasible[shape]
        assert not would_fit.any()


def place(
    given: PlacementProblem, solver: OrToolsSolver | None = None, **options: object
) -> tuple[Assignments, Placed]:
    means = Means(solver or OrToolsSolver(), PassOptions(**options))  # type: ignore[arg-type]
    placing = place_all(Residual(given), means)
    return placing.assignments, placing


# --- passes ----------------------------------------------------------------------------------------------------------


def test_one_pass_is_enough_where_nothing_competes():
    placed, placing = place(problem(tasks=[3], requests=[[1]], free=[[2], [2]]))
    assert int(placed.count.sum()) == 3
    assert (placing.figures.passes, placing.figures.time_limited) == (1, False)
    assert placing.first is not None
    assert placing.first.outcome.certified


def test_what_admission_refuses_is_solved_again():
    given = rivals()
    placed, placing = place(given)
    assert sorted(placed.machine.tolist()) == [0, 1]
    assert placing.figures.passes == 2
    assert_sound(given, placed)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("passes", [0, 1, 8])
def test_rounds_end_sound_and_maximal_after_any_number_of_passes(seed: int, passes: int):
    given = misfits(seed=seed)
    placed, placing = place(given, max_passes=passes)
    assert placing.figures.passes <= passes
    assert_sound(given, placed)


def test_no_pass_is_spent_when_nothing_fits():
    placed, placing = place(
        problem(tasks=[2], requests=[[2]], free=[[1]]), Failing(AssertionError("not to be asked"))
    )
    assert len(placed.cls) == 0
    assert (placing.figures.passes, placing.figures.solves) == (0, 0)


# --- when the solver fails -------------------------------------------------------------------------------------------


def test_a_time_out_falls_back_to_greedy():
    given = misfits()
    solver = Failing(SolverTimeoutError("cut off"))
    placed, placing = place(given, solver, solve_time_limit=0.25)
    assert solver.limits == [0.25]
    assert placing.figures.time_limited
    assert placing.first is None
    assert_sound(given, placed)


def test_a_time_out_in_a_later_pass_keeps_what_was_placed():
    given = rivals()
    placed, placing = place(given, Failing(SolverTimeoutError("cut off"), after=1))
    assert placing.figures.time_limited
    assert placing.figures.passes == 1
    assert int(placed.count.sum()) == 2
    assert_sound(given, placed)


def test_other_failures_of_the_solver_are_passed_on():
    with pytest.raises(SolverError, match="died"):
        place(misfits(), Failing(SolverError("died")))


# --- greedy ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_greedy_leaves_nothing_that_fits(seed: int):
    given = misfits(classes=9, seed=100 + seed)
    assert_sound(given, place_greedily(Residual(given)))


def test_greedy_takes_the_cheapest_machine_and_sees_crowding():
    residual = Residual(
        problem(tasks=[4], requests=[[1]], free=[[9], [9], [9]], cost=[[0, 15, 99]], crowd=10)
    )
    placed = place_greedily(residual)
    assert int(placed.count.sum()) == 4
    assert residual.placed[0] >= residual.placed[1] >= residual.placed[2]


def test_greedy_serves_the_more_important_first():
    residual = Residual(problem(tasks=[2, 2], requests=[[1], [1]], free=[[2]], priority=[0, 1]))
    placed = place_greedily(residual)
    assert set(placed.cls.tolist()) == {1}


def test_greedy_respects_pins_and_joint_rows():
    rows = JointRows(
        row_of=np.array([0, 0, 1]), amount=np.array([1, 0]), limit=np.array([2, 9]), reason="full"
    )
    given = problem(tasks=[9, 9], requests=[[1], [1]], free=[[4], [4], [4]], pins={0: [0, 1]}, joint=[rows])
    residual = Residual(given)
    placed = place_greedily(residual)
    by_class = np.bincount(placed.cls, weights=placed.count, minlength=2).tolist()
    assert by_class == [2.0, 9.0]
    assert set(placed.machine[placed.cls == 0].tolist()) <= {0, 1}


# --- bands -----------------------------------------------------------------------------------------------------------


def by_priority(given: PlacementProblem) -> tuple[list[float], Placed]:
    """Tasks placed per class."""
    placing, residual = place_by_priority(given, Means(OrToolsSolver()))
    placed = placing.assignments
    number = np.bincount(placed.cls, weights=placed.count, minlength=given.classes)
    assert (number + residual.remaining.sum(axis=1) == given.counts.sum(axis=1)).all()
    return number.tolist(), placing


def test_where_there_is_room_all_priorities_are_placed_together():
    given = problem(tasks=[2, 2], requests=[[1], [1]], free=[[4]], priority=[0, 1])
    assert by_priority(given)[0] == [2.0, 2.0]
    assert by_priority(given)[1].figures.waves == 1


def test_of_equal_sizes_the_more_important_are_placed_without_a_second_attempt():
    number, placing = by_priority(problem(tasks=[2, 2], requests=[[1], [1]], free=[[3]], priority=[0, 1]))
    assert number == [1.0, 2.0]
    assert placing.figures.waves == 1


def test_a_large_important_task_displaces_small_ones():
    # The flow may prefer nine small tasks to a large one; nothing less important may keep its place for that.
    given = problem(tasks=[9, 1], requests=[[1], [9]], free=[[9]], priority=[0, 1])
    assert by_priority(given)[0] == [0.0, 1.0]


def test_a_task_that_fits_nowhere_displaces_nobody():
    given = problem(tasks=[3, 1], requests=[[1], [20]], free=[[2]], priority=[0, 1])
    number, placing = by_priority(given)
    assert number == [2.0, 0.0]
    assert placing.figures.waves == 1


def test_a_less_important_task_displaces_nobody():
    given = problem(tasks=[3, 1], requests=[[3], [9]], free=[[9]], priority=[1, 0])
    number, placing = by_priority(given)
    assert number == [3.0, 0.0]
    assert placing.figures.waves == 1


def test_bands_count_from_the_top_and_fill_up_with_what_is_left():
    given = problem(
        tasks=[9, 2, 1], requests=[[1, 0], [5, 1], [8, 0]], free=[[10, 1], [6, 1]], priority=[0, 1, 2]
    )
    number, placing = by_priority(given)
    assert number == [3.0, 1.0, 1.0]
    assert placing.figures.waves in {1, 3}


def test_displacement_respects_pins():
    # The important task may use machine 1 alone, which nobody took from it: nothing to redo.
    given = problem(
        tasks=[4, 1], requests=[[1], [4]], free=[[4], [3]], priority=[0, 1], pins={1: [1], 0: [0]}
    )
    number, placing = by_priority(given)
    assert number == [4.0, 0.0]
    assert placing.figures.waves == 1


# --- turns -----------------------------------------------------------------------------------------------------------


class Turns:
    """Turns over one class of tasks on a machine, whose flows propose and admit what a test states."""

    def __init__(self, tasks: int, proposed: Sequence[int | None], admitted: Sequence[int] = ()) -> None:
        """``proposed``: by turn, None for a flow that runs out of time; ``admitted``: if not all of that."""
        self.residual = Residual(problem(tasks=[tasks], requests=[[1]], free=[[99]]))
        self._proposed, self._admitted = iter(proposed), iter(admitted or [each or 0 for each in proposed])
        self.first: list[bool] = []

    def propose_next(self, first: bool) -> Placed:
        self.first.append(first)
        count = next(self._proposed)
        if count is None:
            raise SolverTimeoutError
        return Placed(_many(count), last=ANY_FLOW if count else None)

    def admit_some(self, placed: Assignments) -> Assignments:
        admitted = _many(next(self._admitted))
        self.residual.book_assignments(admitted)
        return admitted

    def run(self, most: int = 9, worth: int = 10) -> list[int]:
        """How many tasks each turn has placed."""
        self.parts = solve_in_turn(
            self.residual, self.propose_next, self.admit_some, Means(OrToolsSolver()), most=most, worth=worth
        )
        return [int(part.assignments.count.sum()) for part in self.parts]


ANY_FLOW: Any = "a flow, of which nobody asks anything"


def _many(count: int) -> Assignments:
    return Assignments(ints(*[0] * bool(count)), ints(*[0] * bool(count)), ints(*[count] * bool(count)))


def test_turns_end_when_all_tasks_are_placed():
    turns = Turns(6, [4, 2, 1])
    assert turns.run() == [4, 2]
    assert turns.first == [True, False], "only the first turn is told that it is the first"


def test_turns_end_with_one_in_which_nothing_fits():
    assert Turns(6, [4, 0, 1]).run() == [4, 0]


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_there_are_only_so_many_turns(most: int):
    assert Turns(99, [20, 20, 20, 20]).run(most=most) == [20] * most


@pytest.mark.parametrize(("admitted", "turns"), [(2, [10, 2, 8]), (1, [10, 1])])
def test_a_turn_that_places_too_small_a_part_of_those_that_are_left_is_the_last(
    admitted: int, turns: list[int]
):
    # 20 are left for the second turn, and one in ten of them is two.
    assert Turns(30, [10, 9, 8], [10, admitted, 8]).run(most=3) == turns


def test_a_turn_without_time_keeps_what_was_placed_before():
    turns = Turns(9, [4, None])
    assert turns.run() == [4, 0]
    assert [part.figures.time_limited for part in turns.parts] == [False, True]


@pytest.mark.parametrize(
    ("proposed", "admitted", "share", "done"),
    [
        (10, 9, 0.1, True),
        (10, 8, 0.1, False),  # too many are left
        (9, 9, 0.1, False),  # the flow did not place all
        (10, 10, 0.1, False),  # nobody is left
        (10, 9, 0.0, False),
    ],
)
def test_a_flow_that_placed_all_and_of_which_few_are_left_is_nearly_done(
    proposed: int, admitted: int, share: float, done: bool
):
    turns = Turns(10, [proposed], [admitted])
    turns.admit_some(_many(proposed))
    assert _nearly_done(turns.residual, _many(proposed), 10, share) is done
