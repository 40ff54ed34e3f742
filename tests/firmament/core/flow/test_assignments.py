"""Assignments: how they are made of tasks, joined and counted."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.flow.problem import Assignments, take_oldest

MANY = Assignments(np.array([1, 0]), np.array([4, 2]), np.array([2, 1]))


@pytest.mark.parametrize("tasks", [[], [(3, 7)], [(3, 7), (0, 9)], [(3, 7), (3, 7), (1, 0), (2, 2)]])
def test_tasks_one_by_one(tasks: list[tuple[int, int]]):
    made = Assignments.from_single_tasks(tasks)
    assert list(made.entries()) == [(cls, machine, 1) for cls, machine in tasks]


def test_one_task_and_none():
    assert list(Assignments.single(5, 3).entries()) == [(5, 3, 1)]
    assert list(Assignments.empty().entries()) == []
    assert list(Assignments.join([]).entries()) == []


def test_equal_pairs_are_one_entry_in_order():
    made = Assignments.count_pairs(np.array([1, 0, 1, 1]), np.array([2, 9, 2, 0]))
    assert list(made.entries()) == [(0, 9, 1), (1, 0, 1), (1, 2, 2)]
    nothing = np.zeros(0, dtype=np.int64)
    assert list(Assignments.count_pairs(nothing, nothing).entries()) == []


def test_joined_selected_and_apart():
    joined = Assignments.join([MANY, Assignments.single(5, 3)])
    assert list(joined.entries()) == [(1, 4, 2), (0, 2, 1), (5, 3, 1)]
    assert list(joined.select(np.array([2, 0])).entries()) == [(5, 3, 1), (1, 4, 2)]
    assert list(MANY.tasks().entries()) == [(1, 4, 1), (1, 4, 1), (0, 2, 1)]


def test_counts():
    assert MANY.count_per_class(3).tolist() == [1, 2, 0]
    assert MANY.count_per_machine(6).tolist() == [0, 0, 1, 0, 2, 0]


def test_the_longest_waiting_of_each_class_go_first():
    waiting = np.array([[1, 3, 0, 2], [0, 1, 4, 0]])
    take_oldest(waiting, Assignments(np.array([0, 1, 0]), np.array([0, 0, 1]), np.array([3, 2, 2])))
    assert waiting.tolist() == [[0, 0, 0, 1], [0, 0, 3, 0]]
