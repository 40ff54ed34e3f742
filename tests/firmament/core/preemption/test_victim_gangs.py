"""What leaves together: gangs, and groups in their trees, that lose members, leave, and take others along."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.preemption.problem import NOBODY
from firmament.core.preemption.victim_gangs import VictimGangs
from tests.firmament.core.preemption.states import Gang, Victim, Waiting, pose

TREE = (Gang(1), Gang(0, above=0), Gang(1, above=0), Gang(0))
"""A tree that can lose one of its two groups, of which one can spare a task; and a gang without groups."""

TASKS = (
    Victim(0, (1,), 1, gang=1),
    Victim(0, (1,), 2, gang=2),
    Victim(0, (1,), 3, gang=3),
    Victim(0, (1,), 4),
    Victim(1, (1,), 1, gang=2),
    Victim(1, (1,), 5, gang=1),
    Victim(2, (1,), 0, gang=3, leaving=True),
    Victim(2, (1,), 6, gang=3),
)


def gangs(*given: Gang) -> tuple[VictimGangs, np.ndarray]:
    posed = pose([Waiting((1,))], TASKS, gangs=given or TREE)
    return VictimGangs(posed), posed.spare.copy()


def test_members_of_a_tree_are_those_of_its_groups():
    found, _ = gangs()
    assert [sorted(found.members(gang).tolist()) for gang in range(4)] == [
        [0, 1, 4, 5],
        [0, 5],
        [1, 4],
        [2, 7],
    ]
    assert found.end.tolist() == [3, 2, 3, 4]
    assert found.top.tolist() == [5, 5, 2, 6]
    place, task = found.expand(np.array([3, 1]))
    assert sorted(zip(place.tolist(), task.tolist(), strict=True)) == [(0, 2), (0, 7), (1, 0), (1, 5)]
    assert found.nested
    assert not gangs(Gang(0), Gang(0), Gang(0), Gang(0))[0].nested


def test_a_gang_without_members_has_no_priority():
    found, _ = gangs(*TREE, Gang(0))
    assert found.top[4] == NOBODY
    assert found.members(4).tolist() == []


def test_chains_go_from_the_inside_out():
    found, _ = gangs(Gang(1), Gang(1, above=0), Gang(1, above=1), Gang(0))
    assert [found.list_chain(gang) for gang in range(4)] == [[0], [1, 0], [2, 1, 0], [3]]
    assert found.end.tolist() == [3, 3, 3, 4]


@pytest.mark.parametrize(
    ("priority", "spare", "expected"),
    [
        (7, [1, 0, 1, 0], [True, True, True, True]),
        (6, [1, 0, 1, 0], [True, True, True, False]),
        (5, [1, 0, 1, 0], [False, False, True, False]),
        (5, [0, 0, 1, 0], [False, False, False, False]),  # a group would take along the tree
        (7, [1, -1, 1, 0], [True, False, True, True]),  # it has left
    ],
)
def test_gangs_of_lower_priority_may_leave_as_a_whole(priority: int, spare: list[int], expected: list[bool]):
    found, _ = gangs()
    assert found.find_whole(np.array(spare), priority).tolist() == expected


def test_gangs_of_which_some_task_is_not_listed_may_not():
    found, spare = gangs(TREE[0], TREE[1], TREE[2], Gang(0, together=False))
    assert found.find_whole(spare, 9).tolist() == [True, True, True, False]


def test_a_group_takes_along_what_cannot_spare_it():
    found, spare = gangs()
    assert [found.find_taken_along(gang, spare) for gang in range(4)] == [0, 1, 2, 3]
    spare[0] = 0
    assert [found.find_taken_along(gang, spare) for gang in range(4)] == [0, 0, 0, 3]
    uncounted, spare = gangs(Gang(0), Gang(0, above=0, counted=False), Gang(0, above=0), Gang(0))
    assert [uncounted.find_taken_along(gang, spare) for gang in range(3)] == [0, 1, 0]


def test_who_has_left_by_itself_or_with_what_contains_it():
    found, spare = gangs()
    spare[:] = [0, -1, 0, -1]
    assert [found.has_left(gang, spare) for gang in range(4)] == [False, True, False, True]
    assert [found.find_outermost_left(gang, spare) for gang in range(4)] == [-1, 1, -1, 3]
    spare[0] = -1
    assert [found.has_left(gang, spare) for gang in range(4)] == [True, True, True, True]
    assert [found.find_outermost_left(gang, spare) for gang in range(4)] == [0, 0, 0, 3]


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        ([], []),
        ([-1], []),
        ([2], []),  # it can spare one
        ([2, 2], [2]),
        ([1], [1]),
        ([1, 2], [1]),
        ([1, 2, 2], [0]),  # with both groups, the tree
        ([3, 1], [3, 1]),
        ([-1, 3], [3]),
    ],
)
def test_what_breaks_if_tasks_are_lost(lost: list[int], expected: list[int]):
    found, spare = gangs()
    assert sorted(found.find_broken(lost, spare)) == sorted(expected)


@pytest.mark.parametrize(
    ("lost", "expected"), [([1, 2], [1]), ([2], [1]), ([1], [1]), ([1, 2, 3], [0]), ([1, 1, 3], [0])]
)
def test_a_group_that_breaks_counts_once_in_the_group_around_it(lost: list[int], expected: list[int]):
    """A tree that can lose one of two groups, the first of which has a group of its own; none spares a task."""
    found, spare = gangs(Gang(1), Gang(0, above=0), Gang(0, above=1), Gang(0, above=0))
    assert found.find_broken(lost, spare) == expected


def test_what_has_left_does_not_break_again():
    found, spare = gangs()
    spare[1] = -1
    assert found.find_broken([1, 1], spare) == []
    flat, spare = gangs(Gang(0), Gang(2), Gang(0), Gang(0))
    assert flat.find_broken([1, 1, 3], spare) == [3]
    assert flat.find_broken([1, 1, 1], spare) == [1]


def test_books_of_a_group_go_on_to_the_tree_when_it_leaves_and_returns():
    found, spare = gangs()
    found.book(spare, 2, -1)
    assert spare.tolist() == [1, 0, 0, 0]
    found.book(spare, 2, -1)
    assert spare.tolist() == [0, 0, -1, 0]
    found.book(spare, 2, -1)
    assert spare.tolist() == [0, 0, -2, 0], "it has left already"
    found.book(spare, 1, -1)
    assert spare.tolist() == [-1, -1, -2, 0]
    found.book(spare, 2, 1)
    assert spare.tolist() == [-1, -1, -1, 0]
    found.book(spare, 2, 1)
    assert spare.tolist() == [0, -1, 0, 0]
    found.book(spare, 3, -1)
    assert spare.tolist() == [0, -1, 0, -1]


def test_a_group_that_does_not_count_changes_nothing_above():
    found, spare = gangs(Gang(1), Gang(0, above=0, counted=False), Gang(1, above=0), Gang(0))
    found.book(spare, 1, -1)
    assert spare.tolist() == [1, -1, 1, 0]


@pytest.mark.parametrize(("spare", "expected"), [(1, [0, 3]), (2, [1, 2, 3]), (3, [1, 2, 3])])
def test_groups_are_independent_if_the_tree_can_spare_all_of_them(spare: int, expected: list[int]):
    found, values = gangs()
    values[0] = spare
    assert found.list_independent(values) == expected
    flat, values = gangs(Gang(9), Gang(0), Gang(0), Gang(0))
    assert flat.list_independent(values) == [0, 1, 2, 3]
