"""The network of moves against a network per task, and against all placements of small clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.core.rescheduling.move_network.local_moves import add_local_moves
from firmament.core.rescheduling.move_network.move_search import MoveSearch, SearchOptions, compute_frontier
from firmament.core.rescheduling.move_network.problem import (
    MoveProblem,
    Moves,
    compute_gains,
    compute_saved,
    find_admitted,
)
from firmament.core.rescheduling.plan_moves import group_alike
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.firmament.core.rescheduling.moving import Task, World, worlds

FEW = SearchOptions(first=1, more=1, steps=1, iterations=200)
"""So few columns and steps to begin with that what is missing has to be found."""


def overcommitted(problem: MoveProblem, moves: Moves) -> bool:
    room = problem.free.copy()
    for row, source, target, count in zip(moves.row, moves.source, moves.target, moves.count, strict=True):
        room[source] += problem.requests[row] * count
        room[target] -= problem.requests[row] * count
    return bool((room < 0).any())


@pytest.mark.parametrize("options", [SearchOptions(), FEW], ids=["usual", "few"])
@given(world=worlds(slots=True, most_tasks=12, most_machines=5), extra=st.integers(0, 60))
def test_moves_are_those_of_a_network_with_a_node_per_task(options: SearchOptions, world: World, extra: int):
    problem = world.problem()
    found = MoveSearch(problem, OrToolsSolver(), options).find_moves(extra)
    assert found.saved == problem.cost_now() - world.by_task(extra)
    assert found.saved == compute_saved(problem, found.moves) - extra * found.moves.total
    assert found.most_saved == found.saved, "no proof"
    assert not overcommitted(problem, found.moves)


@given(world=worlds(slots=False, most_tasks=5, most_machines=3), extra=st.integers(0, 60))
def test_whatever_sizes_are_nothing_saves_more_than_the_bound(world: World, extra: int):
    problem = world.problem()
    found = MoveSearch(problem, OrToolsSolver(), SearchOptions()).find_moves(extra)
    assert problem.cost_now() - world.cheapest(extra) <= found.most_saved


@given(world=worlds(slots=False, most_tasks=6, most_machines=3), extra=st.integers(0, 60))
def test_what_is_admitted_fits_and_single_moves_only_add_to_what_is_saved(world: World, extra: int):
    problem = world.problem()
    found = MoveSearch(problem, OrToolsSolver(), SearchOptions()).find_moves(extra).moves.one_by_one()
    fitting = found.select(np.flatnonzero(find_admitted(problem, found)))
    assert not overcommitted(problem, fitting)
    more = add_local_moves(problem, fitting, extra, tries=100)
    assert not overcommitted(problem, more)
    added = more.total - fitting.total
    assert (
        compute_saved(problem, more) - compute_saved(problem, fitting) >= (extra + (extra > 0)) * added >= 0
    )
    assert compute_saved(problem, more) - extra * more.total <= problem.cost_now() - world.cheapest(extra)


@given(world=worlds(slots=True, most_tasks=5, most_machines=3))
def test_no_number_of_moves_saves_more_than_the_frontier_says(world: World):
    problem = world.problem()
    best = world.savings()
    points = compute_frontier(MoveSearch(problem, OrToolsSolver(), SearchOptions()), 5)
    assert points[-1].saved == max(best)
    for point in points:
        assert point.saved <= max(best[: point.moves + 1]) <= point.most_saved
        assert point.saved == compute_saved(problem, point.found.moves)


@given(world=worlds(slots=False, most_tasks=6, most_machines=4), data=st.data())
def test_who_gives_up_a_move_stays_and_so_does_whoever_would_have_come(world: World, data: st.DataObject):
    problem = world.problem()
    found = MoveSearch(problem, OrToolsSolver(), SearchOptions()).find_moves(0).moves.one_by_one()
    given_up = data.draw(st.sets(st.integers(0, max(0, found.total - 1)), max_size=found.total))
    given_up = {entry for entry in given_up if entry < found.total}
    kept = find_admitted(problem, found, given_up)
    assert not kept[list(given_up)].any()
    assert not overcommitted(problem, found.select(np.flatnonzero(kept)))


def test_gains_of_single_moves_add_up_where_nobody_meets():
    world = World(
        ((10, 3, 0), (0, 9, 20)),
        (1, 2),
        ((1,), (1,)),
        ((2,), (2,), (2,)),
        (0, 0, 0),
        1,
        (Task(0, 0), Task(1, 2)),
    )
    problem = world.problem()
    moves = Moves(*(np.array(each) for each in ([0, 1], [0, 2], [1, 0], [1, 1])))
    assert compute_gains(problem, moves).tolist() == [6, 18]
    assert compute_saved(problem, moves) == 24


@given(columns=st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), min_size=1, max_size=12))
def test_machines_with_equal_columns_are_alike(columns: list[list[int]]):
    cost = np.array(columns, dtype=np.int32).T
    group, first = group_alike(cost)
    for one, each in enumerate(columns):
        assert [columns[first[group[one]]] == each, first[group[one]] == columns.index(each)] == [True, True]


@pytest.mark.parametrize(("stuck", "moves"), [(7, 2), (8, 0)])
def test_somebody_makes_room_on_the_eight_best_machines_alone(stuck: int, moves: int):
    """One task gains most on machines whose tasks may go nowhere, less on one whose task has another place."""
    last, empty = stuck + 1, stuck + 2
    gaining = (100, *range(1, stuck + 2), None)
    at_home = tuple(
        tuple(0 if at == machine else None for at in range(stuck + 3)) for machine in range(1, stuck + 1)
    )
    moving = tuple(0 if at in (last, empty) else None for at in range(stuck + 3))
    tasks = (Task(0, 0), *(Task(row, row) for row in range(1, stuck + 2)))
    world = World(
        (gaining, *at_home, moving),
        (0,) * (stuck + 2),
        ((1,),) * (stuck + 2),
        ((1,),) * (stuck + 3),
        (0,) * (stuck + 3),
        1,
        tasks,
    )
    none = Moves(*(np.empty(0, dtype=np.int64) for _ in range(4)))
    assert add_local_moves(world.problem(), none, 0, tries=100).total == moves


def add_from_nothing(world: World, extra: int = 0, **limits: int) -> list[tuple[int, int, int]]:
    """The (row, source, target) of local moves that are found where none is planned yet."""
    none = Moves(*(np.empty(0, dtype=np.int64) for _ in range(4)))
    found = add_local_moves(world.problem(), none, extra, **{"tries": 100, **limits})
    assert found.count.tolist() == [1] * found.total
    return list(zip(found.row.tolist(), found.source.tolist(), found.target.tolist(), strict=True))


def leaving(*tasks: Task, room: int = 9, crowd: int = 0, price: int = 2) -> World:
    """Machine 0 costs 10 and machine 1 nothing; so a task that moves there gains 8, unless machines get crowded."""
    sizes = ((1,), (1,))
    return World(((10, 0), (10, 4)), (price, price), sizes, ((9,), (room,)), (crowd, crowd), 1, tasks)


def test_all_tasks_of_a_home_move_as_long_as_they_gain():
    three = leaving(Task(0, 0), Task(0, 0), Task(0, 0))
    assert add_from_nothing(three) == [(0, 0, 1)] * 3
    assert add_from_nothing(leaving(*[Task(0, 0)] * 3, room=2)) == [(0, 0, 1)] * 2, "as long as there is room"


@pytest.mark.parametrize(("extra", "moves"), [(7, 1), (8, 0), (9, 0)])
def test_a_move_gains_more_than_its_price_and_the_extra_price(extra: int, moves: int):
    assert len(add_from_nothing(leaving(Task(0, 0)), extra)) == moves


def test_no_more_is_tried_or_moved_than_allowed():
    three = leaving(Task(0, 0), Task(0, 0), Task(0, 0))
    assert len(add_from_nothing(three, tries=2)) == 2
    assert len(add_from_nothing(three, most=1)) == 1
    assert add_from_nothing(three, most=0) == []


def test_the_home_whose_tasks_gain_most_comes_first():
    both = leaving(Task(1, 0), Task(0, 0), room=1)
    assert add_from_nothing(both) == [(0, 0, 1)]


def test_each_task_that_leaves_makes_the_others_gain_less():
    # The first of two tasks saves a crowding of 5 at home and 10 for the machine; the second one would add 5 there.
    two = leaving(Task(0, 0), Task(0, 0), crowd=5, price=0)
    assert add_from_nothing(two) == [(0, 0, 1)] * 2
    assert add_from_nothing(leaving(Task(0, 0), Task(0, 0), crowd=5, price=6)) == [(0, 0, 1)]
