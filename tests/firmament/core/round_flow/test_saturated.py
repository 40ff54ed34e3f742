"""Which machines are full for what still waits after a round."""

from __future__ import annotations

from firmament.core.round_flow.refusals_and_prices import find_saturated, largest_shapes
from tests.firmament.core.placement.rules import proposed
from tests.support.core import problem


def test_shapes_with_most_tasks_come_first():
    given = problem(tasks=[1, 0, 4, 2], requests=[[1]] * 4, free=[[1]])
    assert largest_shapes(given, given.counts).tolist() == [2, 3, 0]
    many = problem(tasks=[1] * 400, requests=[[1]] * 400, free=[[1]])
    assert largest_shapes(many, many.counts).tolist() == list(range(len(largest_shapes(many, many.counts))))


def test_machines_without_room_for_anybody_who_waits():
    given = problem(
        tasks=[2, 2],
        requests=[[2], [4]],
        free=[[9], [5], [3], [1]],
        feasible=[[True, True, False, True], [False, True, True, False]],
    )
    full, room = find_saturated(given, proposed((1, 1), (0, 0)))
    assert full.tolist() == [False, True, True, True]
    assert room.tolist() == [2, 0, 1, 0]  # a task asks for 3 on average
    full, _ = find_saturated(given, proposed((0, 0, 2), (1, 1)))
    assert full.tolist() == [False, True, True, False]
    full, _ = find_saturated(given, proposed())
    assert full.tolist() == [False, False, True, True]
