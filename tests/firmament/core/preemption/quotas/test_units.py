"""Where the tasks of a unit go: to the cheapest machine that takes them, all of them or none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from firmament.core.flow.problem import Assignments
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.problem import PreemptionTuning
from firmament.core.preemption.quotas.units import QuotaUnit, find_machine, put_unit
from firmament.core.preemption.quotas.victims import Preemptor
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.core.preemption.states import Victim, Waiting, pose
from tests.support.core import problem


def priced(
    cost: list[list[int]], free: list[list[int]], *, sizes: list[list[int]], count: int = 9
) -> PreemptionState:
    """Classes of some sizes, and what they cost on machines with so much room."""
    waiting = [Waiting(tuple(size), count=count) for size in sizes]
    posed = problem(
        tasks=[count] * len(sizes), requests=sizes, free=free, cost=cost, priority=[10] * len(sizes)
    )
    return PreemptionState(
        posed, pose(waiting, [Victim(0, tuple(sizes[0]))]), Assignments.empty(), PreemptionTuning()
    )


@pytest.mark.parametrize(
    ("cost", "free", "expected"),
    [
        ([5, 3, 4], [[2], [2], [2]], 1),
        ([5, 3, 3], [[2], [2], [2]], 1),
        ([5, 3, 4], [[2], [1], [2]], 2),
        ([5, 3, 4], [[2], [-1], [1]], 0),
        ([5, 3, 4], [[1], [1], [1]], None),
    ],
)
def test_the_cheapest_machine_with_room_is_found(
    cost: list[int], free: list[list[int]], expected: int | None
):
    assert find_machine(priced([cost], free, sizes=[[2]]), 0) == expected


def test_only_what_is_requested_must_be_left():
    now = priced([[1, 2]], [[2, -5], [2, 0]], sizes=[[2, 0]])
    assert find_machine(now, 0) == 0


def test_machines_that_filters_close_are_not_found():
    now = priced([[1, 2]], [[2], [2]], sizes=[[2]])
    closed = replace(now.problem, feasible=np.array([[False, True]]))
    now = PreemptionState(closed, now.preemption, Assignments.empty(), PreemptionTuning())
    assert find_machine(now, 0) == 1


def unit(*members: tuple[int, int]) -> QuotaUnit:
    return QuotaUnit(members, Preemptor(0, (), (10, 0), -1))


def test_tasks_of_a_unit_are_placed_one_after_another():
    now = priced([[1, 2], [2, 1]], [[3], [3]], sizes=[[2], [1]])
    places = put_unit(now, unit((0, 2), (1, 2)), OrToolsSolver())
    assert places == [(0, 0), (0, 1), (1, 1), (1, 0)]
    assert now.taken == places
    assert now.room.tolist() == [[0], [0]]
    assert now.remaining.tolist() == [7, 7]


def test_a_unit_of_which_one_task_finds_no_place_has_none():
    now = priced([[1, 2]], [[3], [3]], sizes=[[2]])
    assert put_unit(now, unit((0, 3)), OrToolsSolver()) is None
    assert put_unit(now, unit(), OrToolsSolver()) == []
