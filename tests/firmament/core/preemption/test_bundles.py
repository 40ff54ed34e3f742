"""Bundles of victims: chosen, joined and compared by kube-scheduler's criteria."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.preemption.bundles import Bundles
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.problem import LOWEST_WEIGHT
from firmament.core.preemption.victims.choosing import bundles, nth_of_its_kind
from firmament.core.preemption.victims.covering import build_cover_problem
from tests.firmament.core.preemption.states import Gang, Victim, Waiting, state


def made(rows: list[int], figures: list[tuple[int, int, int, int, float]], slots: list[list[int]]) -> Bundles:
    """Bundles on machines; all ``slots`` leave. ``figures``: over, top, total, count, age of each."""
    over, top, total, count, age = zip(*figures, strict=True)
    return Bundles(
        np.array(rows),
        np.array(slots),
        np.ones((len(rows), len(slots[0])), dtype=np.bool_),
        np.array(over),
        np.array(top),
        np.array(total),
        np.array(count),
        np.array(age, dtype=np.float64),
    )


FIRST = made([3, 0], [(1, 2, 3, 4, 5.0), (0, 5, 5, 5, 5.0)], [[7], [8]])


@pytest.mark.parametrize(
    ("other", "better"),
    [
        ((1, 2, 3, 4, 5.0), False),
        ((0, 9, 9, 9, 9.0), True),
        ((2, 0, 0, 0, 0.0), False),
        ((1, 1, 9, 9, 9.0), True),
        ((1, 3, 0, 0, 0.0), False),
        ((1, 2, 2, 9, 9.0), True),
        ((1, 2, 4, 0, 0.0), False),
        ((1, 2, 3, 3, 9.0), True),
        ((1, 2, 3, 5, 0.0), False),
        ((1, 2, 3, 4, 4.0), True),
        ((1, 2, 3, 4, 6.0), False),
    ],
)
def test_criteria_are_compared_one_after_another(other: tuple[int, int, int, int, float], better: bool):
    second = made([3, 0], [other, (0, 5, 5, 5, 5.0)], [[1], [2]])
    chosen = FIRST.or_better(second)
    assert chosen.slots.tolist() == [[1 if better else 7], [8]]
    assert chosen.keys()[1].tolist() == [other[1] if better else 2, 5]
    both = Bundles.best([FIRST, second], 99)
    assert both.rows.tolist() == [0, 3]
    assert both.slots.tolist() == [[8], [1 if better else 7]]


def test_bundles_are_joined_in_the_order_of_machines_and_filled_up():
    wide = made([1, 2], [(0, 0, 0, 2, 0.0)] * 2, [[4, 5], [6, 7]])
    joined = Bundles.join([FIRST, wide], 99)
    assert joined.rows.tolist() == [0, 1, 2, 3]
    assert joined.slots.tolist() == [[8, 99], [4, 5], [6, 7], [7, 99]]
    assert joined.victims.tolist() == [[True, False], [True, True], [True, True], [True, False]]
    assert joined.list_tasks(0) == [8]
    assert joined.list_tasks(1) == [4, 5]
    assert Bundles.join([wide], 99) is wide
    assert Bundles.best([wide], 99) is wide
    assert joined.select(np.array([2, 0])).rows.tolist() == [2, 0]
    assert joined.select(joined.rows > 1).count.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("kind", "turn", "expected"),
    [
        ([[5, 5, 3, 5]], None, [[0, 1, 0, 2]]),
        ([[5, 5, 3, 5], [1, 2, 1, 2]], None, [[0, 1, 0, 2], [0, 0, 1, 1]]),
        ([[5, 5, 3, 5]], [[3, 2, 1, 0]], [[2, 1, 0, 0]]),
        ([[4]], None, [[0]]),
    ],
)
def test_entries_of_a_row_are_counted_by_kind(kind, turn, expected):
    order = None if turn is None else np.array(turn)
    assert nth_of_its_kind(np.array(kind), order).tolist() == expected


# --- on one machine --------------------------------------------------------------------------------------------------


def chosen(now: PreemptionState, *rows: int) -> dict[int, list[int]]:
    """Victims by machine."""
    nobody = np.zeros(now.preemption.victims, dtype=np.bool_)
    found = bundles(now, build_cover_problem(now, 0, np.array(rows or [0]), nobody))
    return {machine: found.list_tasks(place) for place, machine in enumerate(found.rows.tolist())}


@pytest.mark.parametrize(
    ("size", "victims", "expected"),
    [
        (2, [(1, 0, 0.0), (1, 1, 0.0), (1, 2, 0.0)], [0, 1]),  # the least important go
        (1, [(1, 0, 0.0), (1, 0, -5.0)], [0]),  # of equals, who started last
        (1, [(3, 1, 0.0), (1, 2, 0.0)], [0]),
        (3, [(1, 0, 0.0), (3, 1, 0.0)], [1]),  # who is not needed after all stays
        (4, [(1, 0, 0.0), (1, 1, 0.0)], None),
        (2, [(2, 10, 0.0)], None),  # not less important
        (2, [(1, 3, 1.0), (1, 3, 1.0), (2, 3, 1.0)], [2]),  # few large ones of those that are alike
    ],
)
def test_victims_of_a_machine(size: int, victims: list[tuple[int, int, float]], expected: list[int] | None):
    running = [Victim(0, (each,), priority, started) for each, priority, started in victims]
    now = state([Waiting((size,))], [[0]], running)
    assert chosen(now) == ({} if expected is None else {0: expected})


def test_a_machine_with_room_needs_no_victims_and_blocked_tasks_stay():
    now = state([Waiting((2,))], [[2], [1], [0]], [Victim(0, (1,)), Victim(1, (1,)), Victim(2, (2,))])
    assert chosen(now, 0, 1, 2) == {0: [], 1: [1], 2: [2]}
    blocked = np.array([False, True, False])
    problem = build_cover_problem(now, 0, np.array([0, 1, 2]), blocked)
    assert problem.rows.tolist() == [0, 2]
    assert problem.deficit.tolist() == [[0], [2]]


def test_protected_tasks_stay_if_others_are_enough():
    running = [Victim(0, (1,), 0, budgets=(0,)), Victim(0, (1,), 1)]
    assert chosen(state([Waiting((1,))], [[0]], running, allowed=[0])) == {0: [1]}
    assert chosen(state([Waiting((1,))], [[0]], running, allowed=[1])) == {0: [0]}
    assert chosen(state([Waiting((2,))], [[0]], running, allowed=[0])) == {0: [0, 1]}


def test_figures_of_a_bundle_count_members_on_other_machines():
    running = [
        Victim(0, (1,), 1, 50.0, gang=0, budgets=(0,)),
        Victim(0, (1,), 3, 40.0, budgets=(0,)),
        Victim(1, (1,), 3, 20.0, gang=0, budgets=(0,)),
        Victim(2, (1,), 2, 10.0, gang=0),
    ]
    now = state([Waiting((2,))], [[0], [0], [0]], running, allowed=[1], gangs=[Gang(0)])
    nobody = np.zeros(4, dtype=np.bool_)
    found = bundles(now, build_cover_problem(now, 0, np.array([0]), nobody))
    assert found.list_tasks(0) == [0, 1]
    assert found.count.tolist() == [4]
    assert found.over.tolist() == [2]
    assert found.top.tolist() == [3]
    assert found.total.tolist() == [1 + 3 + 3 + 2 + 4 * LOWEST_WEIGHT]
    assert found.age.tolist() == [-20.0]


@pytest.mark.parametrize(
    ("spare", "together", "expected"),
    [(0, True, [0, 1]), (0, False, None), (1, False, [0]), (2, False, [0, 1])],
)
def test_members_leave_as_far_as_their_gang_can_spare_them_or_all(
    spare: int, together: bool, expected: list[int] | None
):
    wanted = 1 if spare == 1 else 2
    running = [Victim(0, (1,), 0, gang=0), Victim(0, (1,), 1, gang=0)]
    now = state([Waiting((wanted,))], [[0]], running, gangs=[Gang(spare, together=together)])
    assert chosen(now) == ({} if expected is None else {0: expected})


def test_the_most_helpful_tasks_come_first():
    running = [Victim(0, (1, 1)), Victim(0, (4, 0)), Victim(0, (2, 2)), Victim(0, (0, 9))]
    now = state([Waiting((2, 2))], [[0, 0]], running)
    problem = build_cover_problem(now, 0, np.array([0]), np.zeros(4, dtype=np.bool_))
    assert problem.most_helpful_first().tolist() == [[2, 0, 1, 3]]
    narrowed = problem.narrow(
        np.array([0]), np.array([[True, False, False, False]]), np.array([[False, False, False, True]])
    )
    assert narrowed.rows.tolist() == []
    narrowed = problem.narrow(
        np.array([0]), np.array([[False, True, False, False]]), np.array([[False, False, False, True]])
    )
    assert narrowed.deficit.tolist() == [[2, -7]]
    assert narrowed.forced.tolist() == [[False, False, False, True]]
    assert narrowed.size.tolist() == [[[0, 0], [4, 0], [0, 0], [0, 0]]]
