"""Remembers by how much tasks lower the worth of machines' devices, so that a round asks only about what is new.

What a task would lower on a machine depends on the task, on what the machine has left, and on what the usual tasks
make of it. Few machines change between two rounds, and waiting tasks are asked about again and again. Remembered
losses are those that would be computed anew: what they depend on is compared before each use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cost_models.devices.usable_shares import Room
from cost_models.interface import Bool, Float64, Int64

MOST_LOSSES = 4_000_000
"""How many losses, of one task on one machine each, are remembered at most: 32 MB."""

Columns: TypeAlias = tuple[NDArray[Any], ...]
"""Arrays whose first axis is that of machines."""
Lose: TypeAlias = Callable[[Int64, Float64], Float64]
"""Computes by how much a task lowers the worth of the machines in some rows: float64[rows].

It gets these rows, and what the machines are worth without the task: float64[rows].
"""


class Judge(Protocol):
    """Says what room on machines is worth for the usual tasks."""

    def judge(self, room: Room, rows: Int64) -> Float64:
        """Return what ``room`` on the machines of these rows of a view is worth, in devices: float64[rows]."""
        ...

    def find_basis(self) -> tuple[bytes, Columns]:
        """Return all that the worth depends on beside the room: what is common to all machines, and columns."""
        ...


@dataclass(slots=True)
class _Remembered:
    """The losses of one kind of task."""

    mark: int
    """The mark (`_Memory`) at which the losses were computed."""
    losses: Float64
    """float64[D], by machine with devices."""


@dataclass(slots=True)
class _Memory:
    """Losses that were computed, and what they depend on."""

    most: int
    """How many losses are remembered at most."""
    _common: bytes = b""
    """What the losses depend on for all machines."""
    _columns: Columns = ()
    """What they depend on by machine, as of the last call."""
    _before: Float64 = field(default_factory=lambda: np.zeros(0))
    """float64[D], what each machine is worth as it is."""
    _changed: Int64 = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """int64[D], the mark of the last call that found the machine changed."""
    _mark: int = 0
    """The number of calls so far."""
    _tasks: dict[bytes, _Remembered] = field(default_factory=dict)
    """By what a task asks for; the one used last comes last."""

    def find(self, judge: Judge, room: Room, asked: Sequence[bytes], lose: Sequence[Lose]) -> Float64:
        """Return the losses of tasks on the machines of ``room``, as ``KnownLosses.find`` does."""
        self._note_changes(judge, room)
        found = np.empty((len(asked), len(room.kind)))
        for row, (key, compute) in enumerate(zip(asked, lose, strict=True)):
            found[row] = self._recall(key, compute)
        while self._tasks and len(self._tasks) * len(room.kind) > self.most:
            del self._tasks[next(iter(self._tasks))]
        return found

    def _note_changes(self, judge: Judge, room: Room) -> None:
        """Compare with the last call, and judge the machines that differ from what they were then."""
        common, own = judge.find_basis()
        columns = (room.kind, room.amounts, room.shares, *own)
        forms = [(each.shape, each.dtype) for each in columns]
        self._mark += 1
        if common != self._common or forms != [(each.shape, each.dtype) for each in self._columns]:
            self._tasks.clear()
            changed = np.arange(len(room.kind))
            self._before, self._changed = np.zeros(len(changed)), np.zeros(len(changed), dtype=np.int64)
        else:
            changed = np.flatnonzero(_differ(columns, self._columns))
        self._common, self._columns = common, columns
        if len(changed):
            self._before[changed] = judge.judge(room.select(changed), changed)
            self._changed[changed] = self._mark

    def _recall(self, key: bytes, compute: Lose) -> Float64:
        """Return the losses of one kind of task: float64[D]."""
        known = self._tasks.pop(key, None)
        if known is None:
            known = _Remembered(-1, np.zeros(len(self._before)))
        stale = np.flatnonzero(self._changed > known.mark)
        if len(stale):
            known.losses[stale] = compute(stale, self._before[stale])
        known.mark = self._mark
        self._tasks[key] = known
        return known.losses


class KnownLosses:
    """The losses that one model has computed.

    Several threads may ask at the same time: each uses a memory of its own meanwhile.
    """

    def __init__(self, most: int = MOST_LOSSES) -> None:
        """``most``: how many losses each memory holds at most."""
        self._most = most
        self._idle: list[_Memory] = []

    def __deepcopy__(self, memo: dict[int, Any]) -> KnownLosses:
        """Return an object that remembers nothing: a copy computes its losses anew."""
        return KnownLosses(self._most)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as an object that remembers nothing."""
        return KnownLosses, (self._most,)

    def find(self, judge: Judge, room: Room, asked: Sequence[bytes], lose: Sequence[Lose]) -> Float64:
        """Return the losses of tasks on the machines of ``room``: float64[S, D].

        ``asked`` says for each task all that ``lose`` reads of it. A call that fails loses its memory.
        """
        try:
            memory = self._idle.pop()
        except IndexError:
            memory = _Memory(self._most)
        found = memory.find(judge, room, asked, lose)
        self._idle.append(memory)
        return found


def _differ(ours: Columns, others: Columns) -> Bool:
    """Return in which rows any of the arrays differ: bool[D]."""
    found = np.zeros(len(ours[0]), dtype=np.bool_)
    for one, other in zip(ours, others, strict=True):
        unequal = one != other
        found |= unequal if unequal.ndim == 1 else unequal.any(axis=1)
    return found
