"""Packs tasks on machines that each of them may use: in some greedy orders, then by patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from cost_models.interface import Int64
from firmament.core.tree_solver.nested.pattern_search import Bins, Effort, fill_bins
from firmament.core.tree_solver.nested.room import NestedRoom

Booked: TypeAlias = list[tuple[int, Int64, Int64]]
"""Bookings, each as (part, machines, tasks on each machine)."""

PACKINGS = 5
"""Number of greedy orders that are tried for tasks of several shapes."""


class TaskPacking:
    """Packs tasks of parts on machines, and books them in ``room``; ``counts``: number of tasks of each part."""

    def __init__(
        self, room: NestedRoom, shape_of: Sequence[int], counts: Sequence[int], effort: Effort
    ) -> None:
        self._room, self._shape_of, self._counts, self._effort = room, shape_of, counts, effort

    def pack(self, parts: Sequence[int], where: Int64) -> tuple[Booked | None, bool]:
        """Find and book places for all tasks of ``parts`` on the machines ``where``; return the places and True.

        If no places were found, the function returns None, and whether it is certain that none exist.
        """
        parts = [part for part in parts if self._counts[part]]
        counts: dict[int, int] = {}
        for part in parts:
            counts[self._shape_of[part]] = counts.get(self._shape_of[part], 0) + self._counts[part]
        shapes = sorted(counts, key=lambda shape: -self._room.size[shape])
        self._effort.left -= len(parts)
        if any(int(self._room.slots[shape, where].sum()) < counts[shape] for shape in shapes):
            return None, True
        found = self._pack_in_orders(shapes, counts, where)
        if found is None and self._effort.left > 0:
            found, certain = self._pack_by_patterns(shapes, counts, where)
            if found is None:
                return None, certain
        if found is None:
            return None, False
        return self._deal(parts, found), True

    def _pack_in_orders(self, shapes: Sequence[int], counts: dict[int, int], where: Int64) -> Booked | None:
        random = np.random.default_rng(len(shapes))
        size = np.array([self._room.size[shape] for shape in shapes], dtype=np.float64)
        for turn in range(PACKINGS if len(shapes) > 1 else 3):
            weight = size if turn < 3 else size * random.uniform(0.7, 1.3, len(shapes))
            mark, booked = self._room.mark(), []
            for index in np.argsort(-weight, kind="stable").tolist():
                taken = self._put(shapes[index], counts[shapes[index]], where, turn % 3)
                if taken is None:
                    break
                booked.append(taken)
            if len(booked) == len(shapes):
                return booked
            self._room.undo(mark)
        return None

    def _pack_by_patterns(
        self, shapes: Sequence[int], counts: dict[int, int], where: Int64
    ) -> tuple[Booked | None, bool]:
        room, rows = self._room, list(shapes)
        bins = Bins(
            free=room.free[:, where],
            requests=room.requests[rows],
            counts=np.array([counts[shape] for shape in shapes], dtype=np.int64),
            most=room.slots[rows][:, where],
            likeness=("",) * len(where),
            apart=np.full(len(rows), -1, dtype=np.int64),
        )
        filling = fill_bins(bins, self._effort, np.random.default_rng(len(where)))
        if filling.patterns is None:
            return None, filling.certain
        booked: Booked = []
        machines = where[[place for place, _ in filling.patterns]]
        pattern = np.array([given for _, given in filling.patterns], dtype=np.int64).reshape(-1, len(rows))
        for index, shape in enumerate(shapes):
            used = pattern[:, index] > 0
            if used.any():
                room.take(shape, machines[used], pattern[used, index])
                booked.append((shape, machines[used], pattern[used, index]))
        return booked, True

    def _put(self, shape: int, count: int, where: Int64, style: int) -> tuple[int, Int64, Int64] | None:
        """Book tasks of a shape; ``style`` 0: on the fullest machines first; 1 and 2: where least is wasted."""
        slots = self._room.slots[shape, where]
        open_to = slots > 0
        machines, slots = where[open_to], slots[open_to]
        if int(slots.sum()) < count:
            return None
        cost = self._room.cost[shape](machines)
        if style == 0:
            order = np.lexsort((cost, slots))
        else:
            waste = np.round(self._room.find_waste(shape, machines), 6)
            order = np.lexsort((cost, slots, waste) if style == 1 else (cost, waste, -slots))
        machines, slots = machines[order], slots[order]
        counts = np.clip(count - (np.cumsum(slots) - slots), 0, slots)
        machines, counts = machines[counts > 0], counts[counts > 0]
        self._room.take(shape, machines, counts)
        return shape, machines, counts

    def _deal(self, parts: Sequence[int], found: Booked) -> Booked:
        """Divide the places of each shape among the parts that have the shape."""
        by_shape = {shape: (machines, counts) for shape, machines, counts in found}
        given: dict[int, int] = {}
        dealt: Booked = []
        for part in parts:
            shape, count = self._shape_of[part], self._counts[part]
            machines, counts = by_shape[shape]
            first = given.get(shape, 0)
            given[shape] = first + count
            end = np.cumsum(counts)
            own = np.minimum(end, first + count) - np.maximum(end - counts, first)
            used = own > 0
            dealt.append((part, machines[used], own[used]))
        return dealt
