"""What a finished placement leaves while tasks move about or change places, against a count of every task."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.interface import JointRows
from firmament.core.board.board import is_displaced
from firmament.core.board.room_while_moving import ExchangeRoom, MovingRoom, remaining_after
from firmament.core.constraints.quota_terms import Draw
from firmament.core.flow.problem import Assignments, PlacementProblem
from tests.firmament.core.constraints.quota_terms import one_of, pose
from tests.firmament.core.placement.rules import proposed, units
from tests.support.core import problem
from tests.support.effort import examples
from tests.support.histories.holding import SeatLedger
from tests.support.rules import ints

seeds = st.integers(0, 2**32)
MANY = settings(max_examples=examples(200))
EVERY = list[tuple[int, int]]


def rows_of(row_of: list[int], amount: list[int], limit: list[int]) -> JointRows:
    return JointRows(ints(*row_of), ints(*amount), ints(*limit), "node(s) were full")


def left_over(made: PlacementProblem, placed: EVERY, machine: int) -> list[int]:
    """What a machine has left: of each resource, then of its row of each block of joint rows that it has."""
    there = [cls for cls, where in placed if where == machine]
    left = [
        int(made.free[machine, k]) - sum(int(made.requests[made.shape[cls], k]) for cls in there)
        for k in range(made.requests.shape[1])
    ]
    for rows in made.joint:
        row = rows.row_of[machine]
        taken = sum(int(rows.amount[made.shape[cls]]) for cls, where in placed if rows.row_of[where] == row)
        left.append(int(rows.limit[row]) - taken if row >= 0 else 10**9)
    return left


def taken_by(made: PlacementProblem, cls: int) -> list[int]:
    shape = made.shape[cls]
    return [*made.requests[shape].tolist(), *(int(rows.amount[shape]) for rows in made.joint)]


def holds(made: PlacementProblem, placed: EVERY, cls: int, machine: int) -> bool:
    """Whether a machine has what one more task of a class takes; it lacks nothing of what the task does not take."""
    return all(
        not wanted or wanted <= left
        for wanted, left in zip(taken_by(made, cls), left_over(made, placed, machine), strict=True)
    )


def random_case(random: Random) -> tuple[PlacementProblem, EVERY]:
    """Three classes on four machines, with rows of single machines in half the cases; all that is placed fits."""
    made = problem(
        tasks=[9] * 3,
        requests=[[random.randint(1, 4), random.randint(0, 3)] for _ in range(3)],
        free=[[random.randint(0, 12), random.randint(0, 9)] for _ in range(4)],
        feasible=[[random.random() < 0.85 for _ in range(4)] for _ in range(3)],
    )
    if random.random() < 0.5:
        rows = rows_of([-1, 0, 1, 2], [random.randint(0, 3) for _ in range(3)], [random.randint(0, 9)] * 3)
        made = replace(made, joint=(rows,))
    placed: EVERY = []
    for _ in range(8):
        cls, machine = random.randrange(3), random.randrange(4)
        if made.feasible[cls, machine] and holds(made, placed, cls, machine):
            placed.append((cls, machine))
    return made, placed


@MANY
@given(seeds)
def test_as_many_have_room_as_fit_one_after_the_other(seed: int):
    random = Random(seed)
    made, placed = random_case(random)
    room = MovingRoom(made, proposed(*placed))
    assert room.placed.tolist() == [sum(where == machine for _, where in placed) for machine in range(4)]
    for cls in range(3):
        for machine in range(4):
            count, more = 0, list(placed)
            while count < 20 and made.feasible[cls, machine] and holds(made, more, cls, machine):
                more.append((cls, machine))
                count += 1
            assert room.count_fitting(ints(cls), ints(machine)).tolist() == [count]


@MANY
@given(seeds)
def test_machines_open_to_all_take_each_and_machines_closed_to_some_take_none(seed: int):
    random = Random(seed)
    made, placed = random_case(random)
    room = MovingRoom(made, proposed(*placed))
    classes = sorted(random.sample(range(3), random.randint(1, 3)))
    every, some = room.open_to_all(ints(*classes)), room.open_to_some(ints(*classes))
    for machine in range(4):
        fit = [made.feasible[cls, machine] and holds(made, placed, cls, machine) for cls in classes]
        assert all(fit) or not every[machine]
        assert some[machine] or not any(fit)
        if not made.joint and len(classes) == 1 and made.requests[classes].all():
            assert bool(every[machine]) == fit[0]  # nothing is left to doubt


def test_room_that_is_used_up_exactly_is_room():
    made = problem(tasks=[2, 1], requests=[[2], [3]], free=[[3], [2], [5]])
    room = MovingRoom(made, proposed((0, 2)))
    assert room.open_to_all(ints(0, 1)).tolist() == [True, False, True]
    assert room.open_to_some(ints(0, 1)).tolist() == [True, True, True]
    assert room.open_to_some(ints(1)).tolist() == [True, False, True]


def test_a_resource_that_nobody_asks_for_closes_no_machine():
    made = problem(tasks=[1], requests=[[2, 0]], free=[[2, -1]])
    assert MovingRoom(made, Assignments.empty()).open_to_all(ints(0)).tolist() == [True]


def test_where_a_joint_row_limits_machines_nobody_is_sure_to_fit():
    made = problem(tasks=[1], requests=[[1]], free=[[5], [5]])
    free = MovingRoom(made, Assignments.empty())
    assert free.open_to_all(ints(0)).tolist() == [True, True]
    limited = MovingRoom(replace(made, joint=(rows_of([0, 1], [1], [1, 1]),)), Assignments.empty())
    assert limited.open_to_all(ints(0)).tolist() == [False, False]


@MANY
@given(seeds)
def test_what_has_moved_counts_at_the_end_and_nowhere_else(seed: int):
    random = Random(seed)
    made, placed = random_case(random)
    if not placed:
        return
    room = MovingRoom(made, proposed(*placed))
    moved = random.sample(range(len(placed)), random.randint(1, min(2, len(placed))))
    targets = [random.randrange(4) for _ in moved]
    room.move(ints(*(placed[i][0] for i in moved)), ints(*(placed[i][1] for i in moved)), ints(*targets))
    for i, target in zip(moved, targets, strict=True):
        placed[i] = (placed[i][0], target)
    again = MovingRoom(made, proposed(*placed))
    assert room.placed.tolist() == again.placed.tolist()
    shapes, machines = np.repeat(np.arange(3), 4), np.tile(np.arange(4), 3)
    assert room.count_fitting(shapes, machines).tolist() == again.count_fitting(shapes, machines).tolist()


@MANY
@given(seeds)
def test_arrivals_that_find_their_machine_full_are_those_after_whom_too_much_is_there(seed: int):
    random = Random(seed)
    made, placed = random_case(random)
    room = MovingRoom(made, proposed(*placed))
    arrivals = [(random.randrange(3), random.randrange(4)) for _ in range(random.randint(0, 7))]
    lacking = room.find_overfilled(ints(*(a for a, _ in arrivals)), ints(*(m for _, m in arrivals)))
    expected = [
        not holds(made, [*placed, *arrivals[:number]], cls, machine)
        for number, (cls, machine) in enumerate(arrivals)
    ]
    assert lacking.tolist() == expected


def test_what_is_left_leaves_ledgers_aside():
    ledger = SeatLedger(ints(1, 1), np.array([True]))
    made = replace(problem(tasks=[2], requests=[[1]], free=[[4], [4]]), ledgers=(ledger,))
    left = remaining_after(made, proposed((0, 0, 2)))
    assert left.free.tolist() == [[2, 4]]
    assert left.placed.tolist() == [2, 0]
    assert left.ledgers == []
    assert ledger.seats.tolist() == [1, 1]


@MANY
@given(seeds)
def test_tasks_may_change_places_if_both_machines_hold_them_afterwards(seed: int):
    random = Random(seed)
    made, placed = random_case(random)
    used = sorted({machine for _, machine in placed})
    if len(used) < 2:
        return
    if random.random() < 0.5:
        shared = rows_of([0, 0, 1, 1], [random.randint(0, 2) for _ in range(3)], [99, 99])
        made = replace(made, joint=(*made.joint, shared))
    room = ExchangeRoom(made, proposed(*placed), ints(*used))
    for _ in range(3):
        here, there = random.sample(range(len(placed)), 2)
        (one, first), (other, second) = placed[here], placed[there]
        if first == second:
            continue
        shapes = ints(one, other).reshape(2, 1)
        machines = ints(used.index(first), used.index(second)).reshape(2, 1)
        after = list(placed)
        after[here], after[there] = (other, first), (one, second)
        fit = bool(made.feasible[other, first] and made.feasible[one, second]) and all(
            left >= 0 for machine in (first, second) for left in left_over(made, after, machine)
        )
        for rows in made.joint:
            if rows.shared and rows.row_of[first] != rows.row_of[second]:
                fit = fit and rows.amount[one] == rows.amount[other]
        assert room.allows(shapes, machines).tolist() == [fit]
        if fit:
            room.exchange(shapes, machines)
            placed = after


def test_where_too_little_is_left_already_less_may_still_come_for_more():
    made = problem(tasks=[1, 1, 1], requests=[[4], [2], [7]], free=[[3], [7], [2]])
    room = ExchangeRoom(made, proposed((0, 0), (1, 1), (2, 2)), ints(0, 1, 2))
    smaller, larger = ints(0, 1).reshape(2, 1), ints(0, 2).reshape(2, 1)
    assert room.allows(smaller, ints(0, 1).reshape(2, 1)).tolist() == [True]  # 2 of 3 instead of 4
    assert room.allows(larger, ints(0, 2).reshape(2, 1)).tolist() == [False]


@pytest.mark.parametrize(
    ("placed", "among", "displaced"),
    [
        ([(0, 0)], [True, True, True], True),  # the only room is taken by someone less important
        ([(0, 0)], [False, True, True], False),  # who is not one of those asked about
        ([(2, 0)], [True, True, True], False),  # someone as important
        ([(2, 0), (0, 1)], [True, True, True], False),  # room that it could not use anyway
        ([], [True, True, True], False),
    ],
)
def test_somebody_waits_because_of_less_important_tasks(placed: EVERY, among: list[bool], displaced: bool):
    made = problem(tasks=[1] * 3, requests=[[2], [3], [2]], free=[[3], [2]], priority=[0, 5, 5])
    assert is_displaced(made, ints(1), proposed(*placed), np.array(among)) is displaced


def test_tasks_as_important_as_who_waits_stay_while_it_is_asked_who_is_displaced():
    made = problem(tasks=[1] * 4, requests=[[2], [3], [2], [1]], free=[[4]], priority=[0, 5, 5, 9])
    every = np.ones(4, dtype=np.bool_)
    assert not is_displaced(made, ints(1), proposed((0, 0), (2, 0)), every)
    assert not is_displaced(made, ints(0), proposed((2, 0), (1, 0)), every)
    assert is_displaced(made, ints(0, 1), proposed((0, 0)), every)  # the more important of two who wait


def test_units_of_several_shapes_and_machines_come_in_the_order_asked_for():
    made = problem(tasks=[1] * 2, requests=[[1], [2]], free=[[4], [7]])
    room = MovingRoom(made, proposed((0, 1)))
    assert room.count_fitting(ints(1, 0, 1), ints(1, 0, 0)).tolist() == [3, 4, 2]
    assert units(proposed((0, 1))) == [(0, 1)]


class TestQuotas:
    """Tasks draw on quotas by flavor, and machines of another kind have another flavor."""

    @pytest.mark.parametrize(
        ("classes", "machines", "allowed"),
        [
            ((0, 1), (0, 1), True),  # both draw the same
            ((0, 2), (0, 1), False),  # each would draw on the other's flavor
            ((0, 2), (0, 2), True),  # on machines of one kind each keeps its flavor
            ((3, 2), (0, 1), False),  # one of the two draws nothing
        ],
    )
    def test_only_tasks_that_draw_the_same_change_places_between_kinds_of_machines(
        self, classes: tuple[int, int], machines: tuple[int, int], allowed: bool
    ):
        quotas = pose([[9, 9], [9, 9]], [Draw(0, (one_of(0, 1),)), Draw(1, (one_of(0, 1),))], kind=[0, 1, 0])
        made = problem(tasks=[1] * 4, requests=[[1]] * 4, free=[[1]] * 3)
        made = replace(made, quotas=replace(quotas, draw=ints(0, 0, 1, -1)))
        room = ExchangeRoom(made, proposed(*zip(classes, machines, strict=True)), ints(*machines))
        assert room.allows(ints(*classes).reshape(2, 1), ints(0, 1).reshape(2, 1)).tolist() == [allowed]

    @pytest.mark.parametrize(
        ("nodes", "nominal", "parent", "placed", "displaced"),
        [
            # The quota of the queue is full of its own less important task.
            ((0, 0), [1], None, [(0, 0)], True),
            # The less important task takes a machine, not quota that the other could have.
            ((0, 0), [0], None, [(0, 0)], False),
            # Another queue's task keeps its quota, whatever its importance.
            ((1, 2), [1, 0, 0], [-1, 0, 0], [(0, 0)], False),
            # Two queues with quota of their own; the machine is what lacks.
            ((0, 1), [1, 1], None, [(0, 0)], True),
            # There is quota left, and another machine.
            ((0, 0), [2], None, [(0, 1)], True),
        ],
    )
    def test_less_important_tasks_of_other_queues_keep_their_quota(
        self,
        nodes: tuple[int, int],
        nominal: list[int],
        parent: list[int] | None,
        placed: EVERY,
        displaced: bool,
    ):
        quotas = pose(
            [[each] for each in nominal],
            [Draw(node, (one_of(0),)) for node in nodes],
            parent=parent,
            kind=[0, 0],
        )
        made = problem(tasks=[1, 1], requests=[[1], [1]], free=[[1], [1]], priority=[0, 5])
        made = replace(made, quotas=quotas, feasible=np.array([[True, True], [True, False]]))
        every = np.ones(2, dtype=np.bool_)
        assert is_displaced(made, ints(1), proposed(*placed), every) is displaced
        assert not is_displaced(made, ints(0), proposed((1, 0)), every), "nobody is less important"

    def test_a_queue_gets_back_what_its_own_less_important_tasks_use_and_no_more(self):
        """Queues 1 and 2 share 2; each has a less important task there. Queue 1 waits with a task for two."""
        draws = [
            Draw(1, (one_of(0),)),
            Draw(2, (one_of(0),)),
            Draw(1, (one_of(0, amount=2),)),
            Draw(1, (one_of(0),)),
        ]
        quotas = pose([[2], [0], [0]], draws, parent=[-1, 0, 0], kind=[0])
        made = problem(tasks=[1] * 4, requests=[[0]] * 4, free=[[9]], priority=[0, 0, 5, 5])
        made = replace(made, quotas=quotas)
        every = np.ones(4, dtype=np.bool_)
        both = proposed((0, 0), (1, 0))
        assert not is_displaced(made, ints(2), both, every)
        assert is_displaced(made, ints(3), both, every)
        assert is_displaced(made, ints(2, 3), both, every)
        assert is_displaced(made, ints(2), proposed((0, 0)), every)
        assert not is_displaced(made, ints(3), proposed((1, 0)), np.array([True, False, True, True]))
