"""Rows of tasks: how they are found, used again, and how much memory that takes."""

from __future__ import annotations

import sys

import numpy as np

from firmament.core.state.tasks import TaskPhase, TaskTable


def add(table: TaskTable, *uids: str) -> list[int]:
    nothing = np.zeros(len(uids), dtype=np.int64)
    rows = table.add_all(
        uids, names=uids, jobs=[""] * len(uids), cls=nothing, priority=nothing, created=None, now=1.0
    )
    return rows.tolist()


def test_rows_are_used_again_before_new_ones():
    table = TaskTable()
    rows = add(table, "a", "b", "c")
    table.message[rows[1]] = "told"
    table.failures[rows[1]] = 3
    table.remove(rows[0])
    table.remove(rows[1])
    assert add(table, "d", "e", "f") == [rows[1], rows[0], 3]
    assert table.uid == table.name == ["e", "d", "c", "f"]
    assert table.message == table.job == table.orphan_of == [""] * 4
    assert table.failures[: len(table.uid)].tolist() == [0] * 4
    assert table.row_of == {"c": 2, "d": 1, "e": 0, "f": 3}
    assert table.in_state(TaskPhase.PENDING).tolist() == [0, 1, 2, 3]


def test_the_index_does_not_grow_while_tasks_come_and_go():
    """Whatever the number of tasks: some lie just below the size at which a dict would grow."""
    for count in (5_000, 10_800, 14_000, 21_700):
        table = TaskTable()
        add(table, *(f"0-{number}" for number in range(count)))
        sizes = []
        for turn in range(40):
            changed = range(turn * 500, turn * 500 + 500)
            for number in changed:
                table.remove(table.row_of[f"{number // count}-{number % count}"])
            add(table, *(f"{number // count + 1}-{number % count}" for number in changed))
            sizes.append(sys.getsizeof(table.row_of))
        assert max(sizes[15:]) <= max(sizes[:15])
        assert len(table) == len(table.uid) == count
        assert all(table.uid[row] == uid for uid, row in table.row_of.items())


def test_room_is_made_ahead():
    """A dict would grow during these arrivals: nothing does if there was a quiet moment before."""
    for count in (5_000, 10_800, 14_000, 21_700):
        table = TaskTable()
        add(table, *(f"old-{number}" for number in range(count)))
        table.make_room()
        size, rows, again = sys.getsizeof(table.row_of), len(table.state), table.row_of
        table.make_room()
        assert table.row_of is again
        add(table, *(f"new-{number}" for number in range(count // 8)))
        assert (sys.getsizeof(table.row_of), len(table.state)) == (size, rows)
        assert table.row_of is again
        assert len(table) == len(table.uid) == count + count // 8
        assert all(table.uid[row] == uid for uid, row in table.row_of.items())
