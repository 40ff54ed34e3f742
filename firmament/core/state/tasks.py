"""Keeps the tasks of a cluster as columns of arrays."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from enum import IntEnum
from itertools import islice, repeat
from typing import ClassVar, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Float64, Int64

Int8: TypeAlias = NDArray[np.int8]


class TaskPhase(IntEnum):
    """The state of a task. UNUSED marks a row without a task."""

    UNUSED = 0
    PENDING = 1
    ASSUMED = 2
    BOUND = 3


REMOVED_PART = 4
"""``row_of`` is rebuilt once one task in this many has been removed. A dict never reuses the slot of a removed key:
it grows to several times the size that its keys need. Rebuilding keeps the dict at the size that it needs.
"""
SPARE_PART = 8
"""Spare rows are allocated for one task in this many."""
UNGROUPED = -(2**31) - 1
"""Group priority of tasks whose group has none, or that are in no group: below all others."""
FEWEST = 1_000
"""Below this number of tasks, time and memory do not matter."""


class TaskTable:
    """The tasks of a cluster; each keeps its row while it exists, and the row is reused afterwards.

    The arrays below have one entry per row.
    """

    cls: Int64
    """The row of each task's class."""
    priority: Int64
    """The priority of each task."""
    group_priority: Int64
    """The priority of the task's group, see ``Importance``; `UNGROUPED` if it has none."""
    state: Int8
    """The task's state, a `TaskPhase`."""
    machine: Int64
    """The row of the task's machine; -1: it has none, or the machine is unknown."""
    sequence: Int64
    """The order in which tasks arrived."""
    created: Float64
    """When the task was created, in seconds since the epoch; 0: unknown."""
    arrived: Float64
    """The clock's time when the solver first saw the task."""
    not_before: Float64
    """The clock's time before which no round tries the task."""
    failures: Int64
    """How many bindings of the task have failed in a row."""
    unschedulable: Bool
    """Whether the task fitted on no machine, and waits for an event that could help."""
    passed_over: Int64
    """How many rounds have placed other tasks while this one was unschedulable."""
    passed_at: Float64
    """The clock's time when ``passed_over`` was last increased."""
    refused: Bool
    """Whether the task's binding was refused for good: it is unschedulable until an event about the task itself."""
    revised: Bool
    """Whether the task came or changed since the last round began, so that results of that round do not apply to it."""
    assigned: Float64
    """When the task got its machine, in seconds since the epoch; 0: it has none, or the time is unknown."""
    initialized: Float64
    """When the task was initialized, in seconds since the epoch; 0: it was not, or the time is unknown."""
    dated: Bool
    """Whether ``assigned`` is when the task got its machine, and not when that was first seen."""
    arrival_number: Int64
    """The task's arrival number on its machine, in one count with records; 0: none."""
    leaving: Bool
    """Whether the task is bound and has been evicted."""
    owed: Bool
    """Whether others were evicted for the task, and it has neither been bound since nor been found to fit nowhere."""
    displacing: Bool
    """Whether victims had to leave the task's machine, and the order of arrival matters there."""
    spread: Int64
    """The number of the task's spread group; 0: none."""
    put_off: Int64
    """The round that first left the task out since its last try because of ``queue.work_budgets``; 0: none."""

    COLUMNS: ClassVar[Mapping[str, type[np.generic]]]

    def __init__(self) -> None:
        self._had_groups = False
        self.row_of = _index()
        self.uid: list[str] = []
        self.name: list[str] = []
        self.job: list[str] = []
        self.message: list[str] = []
        self.orphan_of: list[str] = []
        self._free: list[int] = []
        self._removed = self._room = 0
        self._next_sequence = 0
        self._pending: Int64 | None = None
        self._changes = 0
        for column, kind in self.COLUMNS.items():
            setattr(self, column, np.full(64, _get_unused_value(column), dtype=kind))

    def __len__(self) -> int:
        return len(self.row_of)

    def add_all(
        self,
        uids: Sequence[str],
        *,
        names: Sequence[str],
        jobs: Sequence[str],
        cls: Int64,
        priority: Int64,
        created: Float64 | None,
        now: float,
        group_priority: Int64 | None = None,
    ) -> Int64:
        """Add pending tasks, given as columns of equal length; return their rows. The uids must be new and distinct."""
        rows = self._take_rows(len(uids))
        numbers = rows.tolist()
        new = len(self.message) - len(self.uid)
        again = len(rows) - new  # The first rows of the result are reused ones.
        for column, values in ((self.uid, uids), (self.name, names), (self.job, jobs)):
            # A deque with ``maxlen=0`` is the fastest loop in Python.
            deque(map(column.__setitem__, numbers[:again], values), maxlen=0)
            column.extend(values[again:])
        self.row_of.update(zip(uids, numbers, strict=True))
        self._room -= len(uids)
        self.cls[rows] = cls
        self.priority[rows] = priority
        if group_priority is not None:
            self.group_priority[rows] = group_priority
            self.note_groups(group_priority)
        self.set_state(rows, TaskPhase.PENDING)
        self.sequence[rows] = self._next_sequence + np.arange(len(rows))
        if created is not None:
            self.created[rows] = created
        self.arrived[rows] = now
        self.revised[rows] = True
        self._next_sequence += len(rows)
        return rows

    def _take_rows(self, count: int) -> Int64:
        """Return rows without tasks: those freed last, then new ones.

        For a new row, the caller must still append uid, name and job.
        """
        free = self._free[: -count - 1 : -1]
        del self._free[len(self._free) - len(free) :]
        for column in self.COLUMNS if free else ():
            getattr(self, column)[free] = _get_unused_value(column)
        first, new = len(self.uid), count - len(free)
        for texts in (self.message, self.orphan_of):
            texts.extend(repeat("", new))
        while first + new > len(self.state):
            self._grow()
        return np.append(np.array(free, dtype=np.int64), np.arange(first, first + new))

    def sort_by_age(self, rows: Int64, *before: Int64) -> Int64:
        """Return the indices that sort tasks (int64[N] rows) from the oldest to the newest.

        The task created first is the oldest; of tasks created at the same time, the one that arrived first. ``before``:
        further keys, int64[N] each, that count more than age; the last one counts most.
        """
        return np.lexsort((self.sequence[rows], self.created[rows], *before))

    def find_placed(self) -> Bool:
        """Return which tasks are bound or assumed, whether or not their machine is known: bool[N]."""
        state = self.state[: len(self.uid)]
        placed: Bool = (state == TaskPhase.BOUND) | (state == TaskPhase.ASSUMED)
        return placed

    def remove(self, row: int) -> None:
        """Remove the task in ``row``; the caller has already released what it used on a machine."""
        del self.row_of[self.uid[row]]
        self.set_state(row, TaskPhase.UNUSED)
        self.machine[row] = -1
        self.unschedulable[row] = False
        self.uid[row] = self.name[row] = self.job[row] = self.message[row] = self.orphan_of[row] = ""
        self._free.append(row)
        self._removed += 1
        if self._removed > max(FEWEST, len(self.row_of) // REMOVED_PART):
            self._rewrite_index()

    def make_room(self) -> None:
        """Enlarge the arrays ahead of need, in a quiet moment: at 100,000 tasks this takes some ms."""
        spare = len(self.row_of) // SPARE_PART
        if len(self.row_of) < FEWEST:
            return
        if self._room < spare:
            self._rewrite_index()
        if len(self.uid) - len(self._free) + spare > len(self.state):
            self._grow()

    def _rewrite_index(self) -> None:
        """Rebuild ``row_of`` with space for half as many tasks more.

        A dict that merges another dict reserves space for all its keys, even for those that it has already.
        """
        half = len(self.row_of) // 2
        index = _index()
        index.update(islice(self.row_of.items(), half))
        index.update(self.row_of)
        self.row_of, self._removed, self._room = index, 0, half

    def begin_round(self) -> None:
        """Begin a round, whose results hold for the tasks as they are now."""
        self.revised[:] = False

    def note_groups(self, group_priority: Int64 | int) -> None:
        """Record the group priorities that tasks get: while no task has been in a group, readers can skip them."""
        self._had_groups = self._had_groups or bool(np.any(group_priority != UNGROUPED))

    @property
    def group_priorities(self) -> Int64:
        """Group priorities of all tasks; empty while no task has been in a group."""
        return self.group_priority[: len(self.uid) if self._had_groups else 0]

    def set_state(self, rows: Int64 | int, state: TaskPhase) -> None:
        """Set the state of tasks; all code that changes states calls this, as the pending tasks are cached."""
        self.state[rows] = int(state)  # Converting an enum member takes longer.
        self._pending = None
        self._changes += 1

    @property
    def changes(self) -> int:
        """A number that grows whenever a task changes its state, or others are evicted for an assumed task."""
        return self._changes

    def note_owed(self) -> None:
        """Let ``changes`` grow, because other tasks are evicted for an assumed task."""
        self._changes += 1

    @property
    def any_unschedulable(self) -> bool:
        """Whether some waiting task is not tried now, apart from tasks refused for good."""
        return len(self.list_unschedulable()) > 0

    def list_unschedulable(self) -> Int64:
        """Return the rows of the pending tasks that are not tried now, ascending, except those refused for good."""
        pending = self.in_state(TaskPhase.PENDING)
        return pending[self.unschedulable[pending] & ~self.refused[pending]] if len(pending) else pending

    def in_state(self, state: TaskPhase) -> Int64:
        """Return the rows of all tasks in ``state``, ascending; read-only.

        Pending tasks are cached until some task's state changes, as few tasks wait among hundreds of thousands.
        """
        if state is not TaskPhase.PENDING:
            return np.flatnonzero(self.state[: len(self.uid)] == int(state))
        if self._pending is None:
            self._pending = np.flatnonzero(self.state[: len(self.uid)] == int(state))
        return self._pending

    def _grow(self) -> None:
        for column in self.COLUMNS:
            array = getattr(self, column)
            setattr(self, column, np.concatenate([array, np.full_like(array, _get_unused_value(column))]))


_KINDS = {"Int64": np.int64, "Float64": np.float64, "Bool": np.bool_, "Int8": np.int8}
TaskTable.COLUMNS = {name: _KINDS[kind] for name, kind in TaskTable.__annotations__.items() if kind in _KINDS}
"""The columns declared above, and the type of each."""


def _index() -> dict[str, int]:
    """Return an empty dict that stores the hash of each key.

    A dict with only texts as keys reads the hash from each text. Since 100,000 texts are spread over the memory,
    adding 10,000 texts would take half as long again.
    """
    index: dict[object, int] = {None: 0}
    del index[None]
    return cast("dict[str, int]", index)


def _get_unused_value(column: str) -> int:
    return {"machine": -1, "group_priority": UNGROUPED}.get(column, 0)
