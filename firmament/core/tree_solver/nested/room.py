"""Keeps what machines have left while places for a tree of groups are searched; bookings can be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from cost_models.interface import Float64, Int64

PlaceCost: TypeAlias = Callable[[Int64], Int64]
"""A function that returns the cost of a task on each of some machines."""

MANY = 2**40
"""Number of slots that means "no limit"."""

ENDLESS = 2**62
"""Limit on a sum over all machines, if enough of a resource is assumed on each of them."""


class NestedRoom:
    """What M machines have left for tasks of S shapes.

    ``free``: int64[K, M], free amounts; ``requests``: int64[S, K]; ``most``: int64[S, M], the most tasks of a shape
    that a machine takes by limits other than ``free``; ``cost``: the cost of a task of each shape; ``resources``: names
    of the resources, () if they are not needed. ``slots``: int64[S, M], how many tasks of one shape alone each machine
    takes now.
    """

    def __init__(
        self,
        free: Int64,
        requests: Int64,
        most: Int64,
        cost: Sequence[PlaceCost],
        resources: Sequence[str] = (),
    ) -> None:
        used = np.flatnonzero(requests.any(axis=0))
        self._used = used
        #: Names of the resources that tasks request, () if they are not known.
        self.resources = tuple(resources[each] for each in used.tolist()) if resources else ()
        self.free = free[used].copy()
        self.requests = requests[:, used]
        self.cost = cost
        self._left = most.copy()
        self.everything = np.arange(free.shape[1])
        self._divisor = np.maximum(self.requests, 1)[:, :, None]
        self._idle = np.where(self.requests > 0, 0, MANY)[:, :, None]
        self.slots = self._count(self.everything)
        total = np.maximum(self.free, 0).sum(axis=1).astype(np.float64)
        #: float64[S], size of a task of each shape: the largest share that it takes of a resource's free total.
        self.size: Float64 = (self.requests / np.maximum(total, 1)).max(axis=1, initial=0.0)
        self._journal: list[tuple[Int64, Int64, Int64, Int64]] = []

    def _count(self, machines: Int64) -> Int64:
        fitting = (self.free[:, machines] // self._divisor + self._idle).min(axis=1, initial=MANY)
        return np.maximum(np.minimum(fitting, self._left[:, machines]), 0)

    def is_as_free_as(self, free: Int64) -> bool:
        """Return whether all resources that tasks request are as free as in ``free`` (int64[K, M])."""
        return np.array_equal(self.free, free[self._used])

    def with_plenty(self, places: Sequence[int], tasks: int) -> NestedRoom:
        """Return a copy with enough for ``tasks`` tasks of some resources (indices) on every machine."""
        free = self.free.copy()
        enough = self.requests.max(axis=0, initial=0) * tasks
        most = ENDLESS // max(1, free.shape[1])  # the amounts of all machines are summed up
        free[list(places)] = np.minimum(enough, most)[list(places), None]
        return NestedRoom(free, self.requests, self._left, self.cost)

    def cap(self, machines: Int64, most: Int64) -> None:
        """Limit the tasks of each shape on ``machines`` to ``most`` (int64[M])."""
        self._left[:, machines] = np.minimum(self._left[:, machines], most[machines])
        self.slots[:, machines] = self._count(machines)

    def mark(self) -> int:
        """Return a mark of the present bookings, for ``undo``."""
        return len(self._journal)

    def take(self, shape: int, machines: Int64, counts: Int64) -> None:
        """Book ``counts`` tasks of a shape on ``machines``, which are distinct."""
        before = (machines, self.free[:, machines], self._left[:, machines], self.slots[:, machines])
        self._journal.append(before)
        self.free[:, machines] -= self.requests[shape][:, None] * counts
        self._left[shape, machines] -= counts
        self.slots[:, machines] = self._count(machines)

    def undo(self, mark: int) -> None:
        """Undo all bookings made since ``mark``."""
        while len(self._journal) > mark:
            machines, free, left, slots = self._journal.pop()
            self.free[:, machines] = free
            self._left[:, machines] = left
            self.slots[:, machines] = slots

    def find_waste(self, shape: int, machines: Int64) -> Float64:
        """Return what each machine would have left if tasks of a shape filled it, in sizes of a task: float64[A]."""
        asked = np.flatnonzero(self.requests[shape])
        if not len(asked):
            return np.zeros(len(machines))
        amount = self.requests[shape][asked][:, None]
        left = self.free[np.ix_(asked, machines)] - amount * self.slots[shape, machines]
        waste: Float64 = (left / amount).sum(axis=0)
        return waste
