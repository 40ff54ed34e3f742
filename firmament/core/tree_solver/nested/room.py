"""What machines have left while places for a tree of groups are searched: booked and given back many times."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Float64, Int64

MANY = 2**40
"""Slots where nothing bounds them."""


class NestedRoom:
    """Room for tasks of S shapes on M machines.

    ``free``: int64[K, M]; ``requests``: int64[S, K]; ``most``: int64[S, M], tasks that a machine takes of a shape by
    itself, whatever else bounds them than what is free; ``cost``: int64[S, M]. ``slots``: int64[S, M], tasks of each
    shape that machines take now.
    """

    def __init__(self, free: Int64, requests: Int64, most: Int64, cost: Int64) -> None:
        used = np.flatnonzero(requests.any(axis=0))
        self._used = used
        self.free = free[used].copy()
        self.requests = requests[:, used]
        self.cost = cost
        self._left = most.copy()
        self.everything = np.arange(free.shape[1])
        self._divisor = np.maximum(self.requests, 1)[:, :, None]
        self._idle = np.where(self.requests > 0, 0, MANY)[:, :, None]
        self.slots = self._count(self.everything)
        total = np.maximum(self.free, 0).sum(axis=1).astype(np.float64)
        #: float64[S], share of all that is free that a task of a shape takes, of the resource of which it takes most
        self.size: Float64 = (self.requests / np.maximum(total, 1)).max(axis=1, initial=0.0)
        self._journal: list[tuple[Int64, Int64, Int64, Int64]] = []

    def _count(self, machines: Int64) -> Int64:
        fitting = (self.free[:, machines] // self._divisor + self._idle).min(axis=1, initial=MANY)
        return np.maximum(np.minimum(fitting, self._left[:, machines]), 0)

    def is_as_free_as(self, free: Int64) -> bool:
        """Return whether all that tasks ask for is as free as in ``free`` (int64[K, M])."""
        return np.array_equal(self.free, free[self._used])

    def cap(self, machines: Int64, most: Int64) -> None:
        """Let machines take no more tasks of any shape than ``most`` (int64[M])."""
        self._left[:, machines] = np.minimum(self._left[:, machines], most[machines])
        self.slots[:, machines] = self._count(machines)

    def mark(self) -> int:
        """Return where the room stands, for ``undo``."""
        return len(self._journal)

    def take(self, shape: int, machines: Int64, counts: Int64) -> None:
        """Book tasks of a shape on distinct machines."""
        before = (machines, self.free[:, machines], self._left[:, machines], self.slots[:, machines])
        self._journal.append(before)
        self.free[:, machines] -= self.requests[shape][:, None] * counts
        self._left[shape, machines] -= counts
        self.slots[:, machines] = self._count(machines)

    def undo(self, mark: int) -> None:
        """Give back all that was booked since ``mark``."""
        while len(self._journal) > mark:
            machines, free, left, slots = self._journal.pop()
            self.free[:, machines] = free
            self._left[:, machines] = left
            self.slots[:, machines] = slots

    def find_waste(self, shape: int, machines: Int64) -> Float64:
        """Return float64[A]: what machines would have left over once filled with a shape, in sizes of its task."""
        asked = np.flatnonzero(self.requests[shape])
        if not len(asked):
            return np.zeros(len(machines))
        amount = self.requests[shape][asked][:, None]
        left = self.free[np.ix_(asked, machines)] - amount * self.slots[shape, machines]
        waste: Float64 = (left / amount).sum(axis=0)
        return waste
