"""Volumes that are to be made for tasks: where their drivers have room for them, and which room is used least.

As kube-scheduler's VolumeBinding: a machine will do if where it reaches, a volume of the class can be made that is as
large as the largest that a task needs (`hasEnoughCapacity`). Where capacities are stated for scoring, a machine has the
mean over a task's storage classes of the share that stays unused, 0 to 100 (`StorageCapacityScoring`, in its default
shape).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.model import NewStorage, StorageRoom


class _Column(NamedTuple):
    """Of one storage class, the machines (rows, ascending) that reach some room: bytes of each."""

    rows: Int64
    largest: Int64
    capacity: Int64


class StorageIndex:
    """Room for new volumes over a table of machines. ``rooms``: by row, that of the machines that reach any."""

    def __init__(self) -> None:
        self.rooms: dict[int, tuple[StorageRoom, ...]] = {}
        self._columns: dict[str, _Column] | None = None

    def set(self, row: int, rooms: tuple[StorageRoom, ...]) -> None:
        """Set what a row has room for."""
        if self.rooms.get(row, ()) != rooms:
            self.rooms.pop(row, None)
            if rooms:
                self.rooms[row] = rooms
            self._columns = None

    def remove(self, last: int, row: int) -> None:
        """Drop ``row`` by moving the ``last`` one into its place."""
        self.set(row, self.rooms.get(last, ()))
        self.set(last, ())

    def refused(self, wanted: Sequence[NewStorage], machines: int) -> Bool:
        """bool[``machines``]: those without room for the largest volume of some storage class."""
        enough = np.ones(machines, dtype=np.bool_)
        for each in wanted:
            room = np.zeros(machines, dtype=np.bool_)
            column = self._by_class().get(each.storage_class)
            if column is not None:
                room[column.rows[column.largest >= each.largest]] = True
            enough &= room
        return ~enough

    def scores(self, wanted: Sequence[NewStorage], machines: int) -> Float64 | None:
        """float64[``machines``], 0..100; None if no capacity of a wanted storage class is to be scored."""
        score = np.zeros(machines)
        classes = np.zeros(machines)
        for each in wanted:
            column = self._by_class().get(each.storage_class)
            if column is None:
                continue
            scored = column.capacity > 0
            rows, capacity = column.rows[scored], column.capacity[scored]
            used = np.minimum(100, 100.0 * each.total // capacity)
            score[rows] += 100 - used
            classes[rows] += 1
        if not classes.any():
            return None
        return np.rint(score / np.maximum(classes, 1))

    def _by_class(self) -> dict[str, _Column]:
        if self._columns is None:
            gathered: dict[str, list[tuple[int, int, int]]] = {}
            for row in sorted(self.rooms):
                for room in self.rooms[row]:
                    gathered.setdefault(room.storage_class, []).append((row, room.largest, room.capacity))
            self._columns = {
                name: _Column(*np.array(found, dtype=np.int64).T) for name, found in gathered.items()
            }
        return self._columns
