"""Chooses machines for kinds of equal tasks, one kind after another; no machine serves two kinds."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.core.few_tasks.apart import Neighbours, find_best_place, find_best_places
from firmament.core.few_tasks.first_costs import CLOSED, select_columns
from firmament.core.scoring.round_assessment import batch_of, crowding_units
from firmament.core.snapshot.grouping import RoundContext
from firmament.solvers.base import Int32

_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class AlikeTasks:
    """Tasks (rows) of one shape; ``group``: number of a group whose tasks prefer to be apart, 0 for none."""

    shape: int
    group: int
    tasks: list[int]


class MachineChoice:
    """The machines chosen so far (``machines``), in the order in which tasks were added, and their cost (``units``)."""

    def __init__(
        self, context: RoundContext, counts: Mapping[int, int], scarce: tuple[int, ...], now: float
    ) -> None:
        """``counts``: all tasks of the round by shape; ``scarce``: columns of the scarce resources."""
        self._context, self._counts, self._scarce, self._now = context, counts, scarce, now
        self._turn = context.configuration.options.seed % len(context.cluster.machines)
        self._nearby = 0.0
        self._charged = 0
        self.machines: list[int] = []

    @property
    def units(self) -> int:
        """Cost of the tasks so far in hundredths of a point, including what they pay for being near each other."""
        return self._charged + round(self._nearby)

    def add(self, kind: AlikeTasks, units: Int32, near: Neighbours | None) -> bool:
        """Choose machines for tasks of a kind; return False if no machine fits, or if other kinds have those that do.

        ``near``: the running tasks of the kind's group; ``units``: int32[M], the cost of one task, in hundredths of a
        point, if no other task is added there in the round.
        """
        if near is not None and (len(kind.tasks) > 1 or near.on_machine.any()):
            return self._add_apart(kind, units, near)
        count = len(kind.tasks)
        rows = self._find_cheapest(units, count)
        if len(rows) < count:
            return False
        if count == 1:
            taken, cost = rows.tolist(), int(units[rows[0]])
        else:
            taken, cost = self._deal_out(kind, rows, units)
        return self._take(taken, cost, 0.0)

    def _take(self, machines: list[int], charged: int, nearby: float) -> bool:
        """Record the machines of tasks and their cost; return False if another kind has one of the machines."""
        if not set(machines).isdisjoint(self.machines):
            return False
        self.machines += machines
        self._charged += charged
        self._nearby += nearby
        return True

    def _add_apart(self, kind: AlikeTasks, units: Int32, near: Neighbours) -> bool:
        """Choose machines for tasks that prefer to be apart.

        Return False if all suitable machines belong to other kinds.
        """
        count = len(kind.tasks)
        if count == 1:
            best = find_best_place(units, near)
            if best is None:
                return False
            rows, counts = np.array([best]), np.ones(1, dtype=np.int64)
            charged = int(units[best])
        else:
            found = find_best_places(units, count, near, lambda rows: self._describe(kind.shape, rows))
            if found is None:
                return False
            rows, counts = found
            crowd, _ = self._describe(kind.shape, rows)
            charged = int(
                (units[rows].astype(np.int64) * counts + crowd * (counts * (counts - 1) // 2)).sum()
            )
        return self._take(np.repeat(rows, counts).tolist(), charged, near.compute_nearby_cost(rows, counts))

    def _find_cheapest(self, units: Int32, most: int) -> Int64:
        """Return the rows of the ``most`` cheapest machines; the round's seed chooses among equally cheap ones."""
        if most == 1:
            limit = units.min()
            tied = np.flatnonzero(units == limit) if limit < CLOSED else _NONE
            if self.machines:
                tied = tied[~np.isin(tied, self.machines)]
            below = _NONE
        else:
            limit = np.partition(units, most - 1)[most - 1]
            below = np.flatnonzero(units < limit)
            tied = np.flatnonzero(units == limit) if limit < CLOSED else _NONE
        if len(tied) == 0:
            return below
        at = np.searchsorted(tied, self._turn) + np.arange(most - len(below))
        return np.concatenate([below, tied.take(at, mode="wrap")])

    def _describe(self, shape: int, rows: Int64) -> tuple[Int64, Int64]:
        """Return by how much a task of a shape raises the next one's cost on ``rows`` (ascending), and how many fit."""
        cluster = self._context.cluster
        shapes, counts = list(self._counts), np.array(list(self._counts.values()), dtype=np.int64)
        columns = select_columns(cluster, rows, self._scarce, self._now)
        crowd = crowding_units(columns, batch_of(cluster, shapes, counts), self._context.configuration.models)
        request = cluster.requests.get(shape)[0]
        asked = np.flatnonzero(request)
        free = columns.capacity[:, asked] - cluster.machines.used[np.ix_(rows, asked)]
        return crowd, (free // request[asked]).min(axis=1, initial=np.iinfo(np.int64).max)

    def _deal_out(self, kind: AlikeTasks, rows: Int64, units: Int32) -> tuple[list[int], int]:
        """Give each task of a kind to the machine that is then cheapest; return machines and total cost."""
        rows = np.sort(rows)
        described = self._describe(kind.shape, rows)
        crowd, room = described[0].tolist(), described[1].tolist()
        waiting = [(int(cost), place) for place, cost in enumerate(units[rows].tolist())]
        heapq.heapify(waiting)
        taken, total = list[int](), 0
        for _ in kind.tasks:
            cost, place = heapq.heappop(waiting)
            taken.append(int(rows[place]))
            total += cost
            room[place] -= 1
            if room[place]:
                heapq.heappush(waiting, (cost + crowd[place], place))
        return taken, total
