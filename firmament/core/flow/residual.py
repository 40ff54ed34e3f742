"""Keeps what is left of a round's problem while tasks are placed: waiting tasks and free capacity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.model_limits import RemainingJointCapacity
from firmament.core.constraints.remaining_quota import RemainingQuota
from firmament.core.flow.problem import Assignments, PlacementProblem, take_oldest

UNLIMITED = int(np.iinfo(np.int64).max) // 4
"""Free amount where no row sets a limit; above any sum of amounts."""


class Residual:
    """What is left of a problem after some placements: waiting tasks, and free capacity of machines and joint rows.

    ``remaining``: int64[C, WAIT_BUCKETS], waiting tasks; ``free``: int64[K, M], free amounts (one row per resource, as
    rows are scanned whole); ``placed``: int64[M], tasks placed on each machine in this round; ``joint``: what is left
    of each block of joint rows; ``quotas``: what is left of quotas, None if there are none; ``ledgers``: copies of the
    problem's ledgers, with the placed tasks booked.
    """

    def __init__(self, problem: PlacementProblem) -> None:
        self.problem = problem
        self.remaining = problem.counts.copy()
        self.free = problem.free.T.copy()  # A contiguous array of its own, even if there is only one machine.
        self.placed = np.zeros(problem.machines, dtype=np.int64)
        self.joint = [RemainingJointCapacity.from_rows(rows) for rows in problem.joint]
        self.quotas = None if problem.quotas is None else RemainingQuota(problem.quotas)
        self.ledgers = [ledger.copy() for ledger in problem.ledgers]
        #: Columns and amounts that one task requests, by shape; looked up once.
        self.amounts: dict[int, list[tuple[int, int]]] = {}

    def copy(self) -> Residual:
        """Return an independent copy."""
        return self.from_problem(self.problem)

    def from_problem(self, problem: PlacementProblem) -> Residual:
        """Return a copy for another problem over the same machines and tasks."""
        twin = copy(self)
        if problem is not self.problem:
            twin.problem, twin.amounts = problem, {}
        twin.remaining, twin.free, twin.placed = self.remaining.copy(), self.free.copy(), self.placed.copy()
        twin.joint = [
            RemainingJointCapacity(rows, room.left.copy())
            for rows, room in zip(problem.joint, self.joint, strict=True)
        ]
        if self.quotas is not None:
            twin.quotas = None if problem.quotas is None else self.quotas.copy(problem.quotas)
        twin.ledgers = [ledger.copy() for ledger in self.ledgers]
        return twin

    def active(self) -> Int64:
        """Return the classes that still have waiting tasks, ascending."""
        return np.flatnonzero(self.remaining.any(axis=1))

    def by_importance(self) -> list[int]:
        """Return classes with waiting tasks by priority, then by longest wait (the oldest bucket that has tasks)."""
        active, oldest = self.active(), np.argmax(self.remaining > 0, axis=1)
        return active[np.lexsort((active, oldest[active], -self.problem.priority[active]))].tolist()

    def find_fitting(self, shape: int) -> Bool:
        """Return on which machines one more task of a shape may go and fits: bool[M]."""
        fits = self.problem.feasible[shape].copy()
        self._close_full(fits, shape)
        return fits

    def find_fitting_by_shape(self, shapes: Iterable[int]) -> dict[int, Bool]:
        """Return ``find_fitting`` for several shapes; an amount that several shapes request is compared only once."""
        if self.problem.irrevocable:  # A ledger answers for one shape at a time.
            return {shape: self.find_fitting(shape) for shape in shapes}
        limits = list(self.limits())
        enough: dict[tuple[int, int], Bool] = {}
        fits = {}
        for shape in shapes:
            room = self.problem.feasible[shape].copy()
            for limit, (amounts, left) in enumerate(limits):
                amount = int(amounts[shape])
                if amount > 0:
                    if (limit, amount) not in enough:
                        enough[limit, amount] = left >= amount
                    room &= enough[limit, amount]
            if self.quotas is not None:
                self.quotas.close_full(room, shape)
            fits[shape] = room
        return fits

    def limits(self, machines: Int64 | None = None) -> Iterator[tuple[Int64, Int64]]:
        """Yield what a task of each shape takes, int64[S], and what machines have left of it, int64[A]; no ledgers.

        First come the resources, then the blocks of joint rows; the amounts left are those of all machines, or of
        ``machines``.
        """
        for amounts, left in zip(self.problem.requests.T, self.free, strict=True):
            yield amounts, left if machines is None else left.take(machines)
        for joint in self.joint:
            left = joint.get_per_machine(UNLIMITED)
            yield joint.rows.amount, left if machines is None else left.take(machines)

    def has_room(self, shape: int) -> Bool:
        """Return on which machines one more task of a shape fits, whether or not it may go there: bool[M]."""
        room = np.ones(self.problem.machines, dtype=np.bool_)
        self._close_full(room, shape)
        return room

    def _close_full(self, machines: Bool, shape: int) -> None:
        """Clear in ``machines`` (bool[M]) the machines on which one more task of a shape does not fit."""
        for column, amount in self._list_asked(shape):
            machines &= self.free[column] >= amount
        for joint in self.joint:
            joint.close_full(machines, shape)
        if self.quotas is not None:
            self.quotas.close_full(machines, shape)
        for ledger in self.ledgers:
            known_as = int(self.problem.map_to_ledgers(np.array([shape]))[0])
            machines &= ledger.count_room(known_as) > 0

    def count_fitting(
        self, shapes: Int64, machines: Int64, *, quotas: bool = True, requests: bool = True
    ) -> Int64:
        """Return how many tasks of ``shapes[i]`` fit on ``machines[i]`` if no others come: int64[A]; exact, at least 0.

        ``quotas``, ``requests``: whether quotas, and requests of resources, count. For a row that stands for several
        machines, the result is what fits on one of them, times their number.
        """
        units = np.full(len(shapes), np.iinfo(np.int64).max)
        for asked, free in zip(self.problem.requests.T, self.free, strict=True) if requests else ():
            amount = asked.take(shapes)
            limited = amount > 0
            if limited.all():
                np.minimum(units, free.take(machines) // amount, out=units)
            elif limited.any():
                units[limited] = np.minimum(units[limited], free[machines[limited]] // amount[limited])
        for joint in self.joint:
            joint.limit_units(units, shapes, machines)
        for ledger in self.ledgers:
            np.minimum(units, ledger.room_at(self.problem.map_to_ledgers(shapes), machines), out=units)
        units = np.maximum(units, 0)
        if self.problem.multiplicity is not None:
            units = np.minimum(units, int(self.remaining.sum())) * self.problem.multiplicity[machines]
        if self.quotas is not None and quotas:
            self.quotas.limit_units(units, shapes, machines)
        return units

    def has_room_on(self, shape: int, machine: int) -> bool:
        """Return whether one more task of a shape fits on one machine; like ``has_room``, but faster."""
        for column, amount in self._list_asked(shape):
            if self.free.item(column, machine) < amount:
                return False
        for joint in self.joint:
            if not joint.fits(shape, machine):
                return False
        if self.quotas is not None and not self.quotas.lets_in(shape, machine):
            return False
        for ledger in self.ledgers:
            known_as = self.problem.map_to_ledgers(np.array([shape]))
            if ledger.room_at(known_as, np.array([machine]))[0] <= 0:
                return False
        return True

    def book_assignments(self, assigned: Assignments) -> None:
        """Book placed tasks: their amounts and crowding; the longest waiting tasks of each class count as placed."""
        self.book(self.problem.shape[assigned.cls], assigned.machine, assigned.count)
        take_oldest(self.remaining, assigned)

    def _list_asked(self, shape: int) -> list[tuple[int, int]]:
        """Return the columns and amounts that a shape requests, as a list, which is faster than numpy for one task."""
        found = self.amounts.get(shape)
        if found is None:
            amounts = self.problem.requests[shape].tolist()
            found = self.amounts[shape] = [
                (column, amount) for column, amount in enumerate(amounts) if amount
            ]
        return found

    def take_one(self, cls: int) -> None:
        """Remove the longest waiting task of a class from the waiting tasks."""
        self.remaining[cls, np.argmax(self.remaining[cls] > 0)] -= 1

    def add(self, shape: int, machine: int, count: int = 1) -> None:
        """Book amounts and crowding of ``count`` tasks of a shape on one machine; a negative count releases them.

        Raises ``ValueError`` for a release if there are ledgers, because a ledger cannot release anything.
        """
        if count < 0 and self.ledgers:
            raise ValueError("a ledger gives nothing back")
        for column, amount in self._list_asked(shape):
            self.free[column, machine] -= amount * count
        self.placed[machine] += count
        for joint in self.joint:
            joint.add(shape, machine, count)
        if self.quotas is not None:
            self.quotas.add(shape, machine, count)
        for ledger in self.ledgers:
            known_as = self.problem.map_to_ledgers(np.array([shape]))
            ledger.book(known_as, np.array([machine]), np.array([count]))

    def book(self, shapes: Int64, machines: Int64, counts: Int64) -> None:
        """Book the amounts and the crowding of ``counts[i]`` tasks of ``shapes[i]``; negative counts release them."""
        for column in range(self.problem.requests.shape[1]):
            np.subtract.at(self.free[column], machines, self.problem.requests[shapes, column] * counts)
        np.add.at(self.placed, machines, counts)
        for joint in self.joint:
            joint.book(shapes, machines, counts)
        if self.quotas is not None:
            self.quotas.book(shapes, machines, counts)
        for ledger in self.ledgers:
            ledger.book(self.problem.map_to_ledgers(shapes), machines, counts)


def machine_units(residual: Residual, classes: Int64) -> Int64:
    """Return an upper bound on how many tasks of ``classes`` a machine can take in all: int64[M].

    The bound is the machine's free amount divided by the smallest request of any class, for the scarcest resource; it
    holds for every mix of classes.
    """
    smallest = residual.problem.requests[residual.problem.shape[classes]].min(axis=0)
    units = np.full(residual.problem.machines, int(residual.remaining.sum()))
    for column, amount in enumerate(smallest.tolist()):
        if amount > 0:
            np.minimum(units, residual.free[column] // amount, out=units)
    return np.maximum(units, 0) * residual.problem.times()
