"""Completes a pass: places a small rest task by task, each on the machine where it costs least by then.

Admission refuses a few tasks of a large batch, because a flow of single units does not know what else goes to a
machine. Another network for a few per cent of the tasks would cost nearly as much as the first one; kept cost rows, of
which a placement changes one column, place them at microseconds each, and at about the same cost. That they all find
room is not certain: if one does not, nothing is placed, and the next pass decides about all of them together.

Costs are those of the network, which counts tasks; what their sizes add is levelled for the whole placement afterwards.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.network.network import crowding_cost
from firmament.core.flow.problem import Assignments, Residual
from firmament.core.flow.reduction.symmetry import is_shared, left_on_own

SMALL_REST = 0.1
"""Up to this share of the tasks of a pass is completed without a network."""

MOST_PAIRS = 3_000_000
"""Pairs of kinds of tasks and machines up to which cost rows are kept; bounds memory."""

NOWHERE = np.int64(2**61)
"""At least the cost of a task on a machine that has no room for it; crowding may add to it."""


def completed(residual: Residual) -> Assignments | None:
    """Place all remaining tasks and book them in ``residual``, in order of priority and wait.

    None, and nothing is booked, if some find no room in this order, or if what they share is more than a machine's
    own room: rows of several machines, ledgers, limits per machine.
    """
    problem = residual.problem
    shared = any(is_shared(rows) for rows in problem.joint)
    if shared or problem.ledgers or problem.most or problem.multiplicity is not None:
        return None
    rows = _Rows.of(residual)
    if rows is None:
        return None
    cls = _interleaved(residual)
    machine = rows.placed_in_turn(rows.of_class[cls].tolist())
    if machine is None:
        return None
    placed = Assignments(cls, machine, np.ones(len(cls), dtype=np.int64))
    residual.take(placed)
    return placed


def _interleaved(residual: Residual) -> Int64:
    """Classes of the remaining tasks, one by one: by priority, then by wait; among equals, all classes side by side.

    So no class finds all that is cheap taken by the one before it.
    """
    cls, bucket = np.nonzero(residual.remaining)
    count = residual.remaining[cls, bucket]
    nth = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    position = (nth + 0.5) / np.repeat(count, count)
    cls, bucket = np.repeat(cls, count), np.repeat(bucket, count)
    order = np.lexsort((cls, position, bucket, -residual.problem.priority[cls]))
    ordered: Int64 = cls[order]
    return ordered


class _Rows:
    """Cost rows of the kinds of tasks that wait, kept while tasks are placed.

    A kind is a shape, or a class with pins. ``of_class``: int64[C], the kind of each waiting class; ``cost``:
    int64[N, M], ``NOWHERE`` where a kind has no room or may not go; ``room``: int64[M, K'], what is free per resource
    and on a machine's own joint rows; ``requests``: int64[K', N].
    """

    def __init__(
        self, of_class: Int64, cost: Int64, room: Int64, requests: Int64, residual: Residual
    ) -> None:
        self.of_class = of_class
        self._cost = cost
        self._room = room
        self._requests = requests
        self._crowd = residual.problem.crowd
        self._step = residual.problem.crowd_step()
        self._placed = residual.placed.copy()

    @classmethod
    def of(cls, residual: Residual) -> _Rows | None:
        """The rows of what waits; None if there are too many."""
        problem = residual.problem
        kinds: dict[tuple[int, int], int] = {}
        of_class = np.full(problem.classes, -1, dtype=np.int64)
        for waiting in residual.active().tolist():
            pinned = waiting if waiting in problem.pins else -1
            of_class[waiting] = kinds.setdefault((int(problem.shape[waiting]), pinned), len(kinds))
        if len(kinds) * problem.machines > MOST_PAIRS:
            return None
        everyone = np.arange(problem.machines)
        crowding = crowding_cost(residual, everyone, np.zeros_like(everyone))
        cost = np.empty((len(kinds), problem.machines), dtype=np.int64)
        for (shape, pinned), row in kinds.items():
            np.add(problem.cost[shape], crowding, out=cost[row])
            cost[row, ~residual.fits(shape)] = NOWHERE
            if pinned >= 0:
                cost[row, np.setdiff1d(everyone, problem.pins[pinned])] = NOWHERE
        shapes = np.array([shape for shape, _ in kinds], dtype=np.int64)
        room, requests = list(residual.free), list(problem.requests[shapes].T)
        for rows, left in zip(problem.joint, residual.joint_left, strict=True):
            own = left_on_own(rows, left)
            room.append(np.where(own < 0, NOWHERE, own))
            requests.append(rows.amount[shapes])
        # Where others have overcommitted, tasks that ask for nothing of the resource may still come.
        rooms = np.maximum(np.stack(room, axis=1), 0)
        return cls(of_class, cost, rooms, np.stack(requests), residual)

    def placed_in_turn(self, kinds: list[int]) -> Int64 | None:
        """The machine that each task of ``kinds`` takes, one after another; None if one finds no room."""
        machines = np.empty(len(kinds), dtype=np.int64)
        for number, kind in enumerate(kinds):
            row = self._cost[kind]
            machine = int(row.argmin())
            if row[machine] >= NOWHERE:
                return None
            machines[number] = machine
            self._book(kind, machine)
        return machines

    def _book(self, kind: int, machine: int) -> None:
        """One task more on a machine: it is dearer for all kinds by then, and closed to those that do not fit."""
        column, left = self._cost[:, machine], self._room[machine]
        self._placed[machine] += 1
        if self._placed[machine] % self._step == 0:
            column += self._crowd[machine] * self._step
        left -= self._requests[:, kind]
        closed = np.logical_or.reduce(self._requests > left[:, None], axis=0)
        np.copyto(column, NOWHERE, where=closed)
