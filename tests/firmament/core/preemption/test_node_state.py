"""The state of machines while victims are chosen: room, budgets, gangs, places; and what each step changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from firmament.core.flow.problem import Assignments
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.problem import PreemptionTuning
from tests.firmament.core.preemption.states import Gang, Victim, Waiting, pose, state
from tests.support.core import problem
from tests.support.histories.holding import SeatLedger

ONE = Waiting((2, 0))


def snapshot(now: PreemptionState) -> tuple[object, ...]:
    """All that steps change, as plain values."""
    return (
        now.room.tolist(),
        now.remaining.tolist(),
        now.gone.tolist(),
        now.allowed.tolist(),
        now.spare.tolist(),
        list(now.taken),
        {machine: list(classes) for machine, classes in now.preemptors.items() if classes},
        {machine: list(victims) for machine, victims in now.chosen.items() if victims},
        dict(now.elsewhere),
    )


def test_room_counts_placed_tasks_and_those_that_leave_anyway():
    now = state(
        [Waiting((2, 1), count=3)],
        [[5, 5], [1, 1]],
        [Victim(0, (1, 1)), Victim(1, (4, 0), leaving=True), Victim(1, (0, 7), started=-1.0)],
        placed=[(0, 0)],
    )
    assert now.room.tolist() == [[3, 4], [5, 1]]
    assert now.remaining.tolist() == [2]
    assert now.gone.tolist() == [False, True, False]
    assert now.list_gone(0) == []
    assert now.list_gone(1) == [1]
    now.evict([2])
    assert now.list_gone(1) == [1, 2]


@pytest.mark.parametrize(
    ("free", "expected"), [([2, -1], True), ([1, 5], False), ([3, 0], True), ([2, 0], True)]
)
def test_only_what_a_task_requests_must_be_left(free: list[int], expected: bool):
    assert state([ONE], [free]).fits(0, 0) is expected


def test_evicting_and_sparing_undo_each_other():
    now = state(
        [ONE],
        [[0, 0], [0, 0]],
        [Victim(0, (2, 1), budgets=(0, 1), gang=0), Victim(1, (3, 0), gang=0)],
        allowed=[1, 0],
        gangs=[Gang(1)],
    )
    before = snapshot(now)
    now.evict([0, 1])
    assert now.room.tolist() == [[2, 1], [3, 0]]
    assert now.allowed.tolist() == [0, -1]
    assert now.spare.tolist() == [-1]
    assert now.chosen == {0: [0], 1: [1]}
    now.spare_victim(1)
    assert now.spare.tolist() == [0]
    assert now.gone.tolist() == [True, False]
    now.spare_victim(0)
    assert snapshot(now) == before


def test_placing_and_withdrawing_undo_each_other():
    now = state([ONE, Waiting((1, 1))], [[4, 4]])
    before = snapshot(now)
    now.put(0, 0)
    now.put(1, 0)
    assert now.room.tolist() == [[1, 3]]
    assert now.remaining.tolist() == [0, 0]
    assert now.taken == [(0, 0), (1, 0)]
    assert now.preemptors == {0: [0, 1]}
    now.withdraw(0, 0)
    assert (now.taken, now.preemptors) == ([(1, 0)], {0: [1]})
    now.withdraw(1, 0)
    assert snapshot(now) == before
    now.take_back(0, 0)
    assert (now.room.tolist(), now.remaining.tolist(), now.taken) == ([[6, 4]], [2, 1], [])


def test_a_copy_is_independent():
    now = state([ONE], [[2, 0]], [Victim(0, (2, 1), budgets=(0,), gang=0)], allowed=[1], gangs=[Gang(0)])
    now.elsewhere[0] = (7,)
    before, twin = snapshot(now), now.copy()
    assert snapshot(twin) == before
    twin.evict([0])
    twin.put(0, 0)
    twin.elsewhere[1] = (8,)
    assert snapshot(now) == before
    again = twin.copy()
    now.elsewhere.clear()
    twin.withdraw(0, 0)
    twin.spare_victim(0)
    assert again.preemptors == {0: [0]}
    assert again.chosen == {0: [0]}
    assert again.taken == [(0, 0)]


@pytest.mark.parametrize(
    ("victims", "expected"),
    [([], 0), ([0], 0), ([0, 1], 1), ([1, 0], 1), ([2], 1), ([3], 1), ([4], 0), ([0, 2, 3, 1], 3)],
)
def test_victims_beyond_budgets_are_counted_in_their_order(victims: list[int], expected: int):
    now = state(
        [ONE],
        [[0, 0]],
        [
            Victim(0, (1, 0), budgets=(0,)),
            Victim(0, (1, 0), budgets=(0,)),
            Victim(0, (1, 0), budgets=(1,)),
            Victim(0, (1, 0), budgets=(0, 2)),
            Victim(0, (1, 0)),
        ],
        allowed=[1, 0, -5],
    )
    assert now.count_beyond(victims) == expected


def test_budgets_that_are_exceeded_count_as_used_up():
    now = state([ONE], [[0, 0]], [Victim(0, (1, 0), budgets=(0,))] * 2, allowed=[-3])
    assert now.count_beyond([0, 1]) == 2


def test_only_less_important_tasks_that_are_not_gone_may_go():
    now = state(
        [Waiting((1, 0), priority=5)],
        [[0, 0]],
        [Victim(0, (1, 0), priority=3), Victim(0, (1, 0), 4), Victim(0, (1, 0), 5), Victim(0, (1, 0), 6)],
    )
    assert now.may_go(0).tolist() == [True, True, False, False]
    now.evict([0])
    assert now.may_go(0).tolist() == [False, True, False, False]


GANGS = [Gang(0), Gang(1), Gang(0, together=False), Gang(0)]
MEMBERS = [
    Victim(0, (1, 0), gang=0),
    Victim(0, (1, 0), gang=1),
    Victim(0, (1, 0), gang=2),
    Victim(0, (1, 0), gang=3),
    Victim(0, (1, 0)),
    Victim(1, (1, 0), gang=1),
    Victim(1, (1, 0), 20, gang=3),
    Victim(2, (1, 0), gang=0),
]


def test_members_may_go_that_their_gang_can_spare_or_with_all_of_it():
    now = state([ONE, Waiting((1, 0), own=1)], [[0, 0]] * 3, MEMBERS, gangs=GANGS)
    assert now.find_whole_gangs(0).tolist() == [True, True, False, False]
    assert now.may_go(0).tolist() == [True, True, False, False, True, True, False, True]
    assert now.find_whole_gangs(1).tolist() == [True, False, False, False]
    assert now.may_go(1).tolist() == [True, False, False, False, True, False, False, True]


def test_a_gang_that_is_broken_leaves_with_all_its_members():
    now = state([ONE], [[0, 0]] * 3, MEMBERS, gangs=GANGS)
    assert now.add_gangs([0]) == [0, 7]
    assert now.add_gangs([1]) == [1]
    assert now.add_gangs([5, 1]) == [5, 1]
    assert now.add_gangs([4, 2]) == [4, 2]
    now.evict([0])
    assert now.add_gangs([0, 4]) == [4]
    assert [now.splits(0, each) for each in ([], [4], [1], [1, 5], [3], [2])] == [
        False,
        False,
        False,
        False,
        True,
        True,
    ]
    without = state([ONE], [[0, 0]], [Victim(0, (1, 0))])
    assert without.add_gangs([0]) == [0]
    assert not without.splits(0, [0])


def test_machines_are_usable_by_filters_pins_and_confinement():
    now = state(
        [ONE, ONE], [[9, 9]] * 3, feasible=[[True, True, False], [True, True, True]], pins={1: [0, 2]}
    )
    assert now.usable(0).tolist() == [True, True, False]
    assert now.usable(1).tolist() == [True, False, True]
    now.confined[0] = np.array([False, True, True])
    assert now.usable(0).tolist() == [False, True, False]
    assert not now.openable(0).any()
    assert now.allows(0, 0)


def test_tasks_of_one_machine_with_equal_priority_and_start_are_alike():
    now = state(
        [ONE],
        [[0, 0]] * 2,
        [
            Victim(0, (1, 0), 1, 5.0),
            Victim(0, (2, 0), 1, 5.0),
            Victim(0, (1, 0), 1, 4.0),
            Victim(0, (1, 0), 2, 4.0),
            Victim(1, (1, 0), 2, 4.0),
        ],
    )
    assert now.alike.tolist() == [1, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(("tasks", "few"), [(2, True), (3, False)])
def test_few_tasks(tasks: int, few: bool):
    tuning = PreemptionTuning(few_tasks=2, few_machines=1)
    assert state([ONE], [[1, 1]], tuning=tuning).few(tasks) is few
    assert not state([ONE], [[1, 1]] * 2, tuning=tuning).few(2)


def with_seats(*seats: int) -> PreemptionState:
    """Two classes, of which the first takes a seat on a machine, and machines with so many seats."""
    waiting, free = [Waiting((1, 0), count=9), Waiting((1, 0), count=9)], [[9, 9]] * len(seats)
    posed = problem(tasks=[9, 9], requests=[[1, 0], [1, 0]], free=free, priority=[10, 10])
    ledger = SeatLedger(np.array(seats), np.array([True, False]))
    return PreemptionState(
        replace(posed, ledgers=(ledger,)),
        pose(waiting, [Victim(0, (1, 0))]),
        Assignments.from_single_tasks([(0, len(seats) - 1)]),
        PreemptionTuning(),
    )


def test_machines_without_room_in_a_ledger_are_left_out():
    now = with_seats(0, 1, 2, 1)
    assert now.usable(0).tolist() == [False, True, True, False]
    assert now.usable(1).tolist() == [True] * 4
    assert [now.allows(0, machine) for machine in range(4)] == [False, True, True, False]
    assert [now.allows(1, machine) for machine in range(4)] == [True] * 4
    now.put(0, 1)
    now.put(1, 2)
    assert now.usable(0).tolist() == [False, False, True, False]
    twin = now.copy()
    twin.put(0, 2)
    twin.put(0, 2)
    assert [now.allows(0, 2), twin.allows(0, 2)] == [True, False]


# --- origins of evictions ---------------------------------------------------------------------------------------------


def with_origins(by_place: dict[int, list[int]]) -> PreemptionState:
    """Three equal tasks wait, and three run; by place in the queue, those with whom evictions of a task began."""
    now = state([Waiting((1,), count=3)], [[0]], [Victim(0, (1,), at) for at in range(3)], gangs=[Gang(0)])
    origins = {0: {place: np.array(rows) for place, rows in by_place.items()}}
    now.preemption = replace(now.preemption, origins=origins if by_place else {})
    return now


@pytest.mark.parametrize(
    ("served", "count", "expected"),
    [
        (0, 1, [0]),
        (0, 2, [0, 1]),
        (0, None, [0, 1, 2]),
        (1, 1, [1]),
        (1, None, [1, 2]),
        (2, 1, [2]),
        (3, None, []),
    ],
)
def test_origins_are_those_of_the_tasks_that_come_next(served: int, count: int | None, expected: list[int]):
    now = with_origins({0: [0], 1: [1], 2: [2, 1] if served == 0 else [2]})
    now.remaining[0] -= served
    assert now.find_origins(0, count).tolist() == expected


def test_who_began_an_eviction_does_not_go_for_who_lost_its_place_by_it():
    now = with_origins({1: [1]})
    assert now.may_go(0).tolist() == [True, False, True]
    assert with_origins({}).may_go(0).tolist() == [True, True, True]
    assert now.find_whole_gangs(0).tolist() == [True]
    ganged = state(
        [Waiting((1,))], [[0]], [Victim(0, (1,), 0, gang=0), Victim(0, (1,), 1, gang=1)], gangs=[Gang(0)] * 2
    )
    ganged.preemption = replace(ganged.preemption, origins={0: {0: np.array([1])}})
    assert ganged.find_whole_gangs(0).tolist() == [True, False]
    assert ganged.may_go(0).tolist() == [True, False]
