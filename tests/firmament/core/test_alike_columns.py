"""Columns get equal marks just if they are equal."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.ranks import ColumnMarks
from tests.support.effort import examples

columns = st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), max_size=12)


@settings(max_examples=examples(100))
@given(columns, st.integers(0, 3), st.lists(st.integers(0, 11), unique=True, max_size=4))
def test_groups_are_those_of_equal_columns(given_columns: list[list[int]], cut: int, single: list[int]):
    matrix = np.array(given_columns, dtype=np.int32).reshape(-1, 3).T
    alone = np.array([column for column in sorted(single) if column < len(given_columns)], dtype=np.int64)
    marks = ColumnMarks(len(given_columns))
    marks.add(matrix[:cut])
    assert marks.count() == len({tuple(column[:cut]) for column in given_columns})
    marks.add(matrix[cut:])
    marks.add(alone[None, :] + 1, at=alone)
    groups = marks.groups()
    assert groups is not None
    group, first, size = groups
    keys = [(*column, number + 1 if number in alone else 0) for number, column in enumerate(given_columns)]
    for here, mine in enumerate(keys):
        assert [group[here] == other for other in group.tolist()] == [mine == theirs for theirs in keys]
    assert [keys.index(keys[column]) for column in first.tolist()] == first.tolist()
    assert size.tolist() == [group.tolist().count(number) for number in range(len(first))]


def test_many_rows_at_once():
    matrix = np.zeros((200, 5), dtype=np.int64)
    matrix[199, 3] = 1
    marks = ColumnMarks(5)
    marks.add(matrix)
    groups = marks.groups()
    assert groups is not None
    assert sorted(groups[2].tolist()) == [1, 4]


@given(columns)
def test_rows_added_together_give_the_marks_of_rows_added_one_by_one(given_columns: list[list[int]]):
    matrix = np.tile(np.array(given_columns, dtype=np.int32).reshape(-1, 3).T, (40, 1))
    one_by_one, together = ColumnMarks(len(given_columns)), ColumnMarks(len(given_columns))
    for row in matrix:
        one_by_one.add(row[None, :])
    together.add_each(iter(matrix))
    for before, after in zip(one_by_one.groups() or (), together.groups() or (), strict=True):
        assert before.tolist() == after.tolist()
