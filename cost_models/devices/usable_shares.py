"""Computes how much of the free devices usual tasks could use: the measure of fragmentation of FGD.

Source: Weng et al., Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent,
USENIX ATC 2023. A machine's free share of a device is *unusable* for a task if the machine lacks room for the task,
has too few devices with enough left, or has too little left of this device. For tasks that take no devices, all of
the share is unusable. The fragmentation of a machine is the share that is expected to be unusable for a task drawn
from the usual ones:

    F(n) = sum over tasks m of popularity(m) x unusable(n, m)        in devices

Free shares that are not unusable are usable, so U(n) = free(n) - F(n). If a task that takes d of the devices is
placed, F changes by (U before - U after) - d, and d is the same everywhere: machines compare by U before - U after,
the *usable share lost*, which is never negative.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Bool, Float64, Int64

SLACK = 1e-9
"""Shares that differ by no more are equal: they are quotients of whole numbers."""


@dataclass(frozen=True, slots=True)
class UsualTasks:
    """The tasks that the cluster usually has, as T kinds.

    The next task is assumed to be one of the usual tasks, drawn at random.
    """

    popularity: Float64
    """float64[T], which part of all tasks each kind is; the sum is 1."""
    requests: Int64
    """int64[T, R], amounts of resources."""
    count: Int64
    """int64[T, N], how many devices of each kind a task takes."""
    share: Float64
    """float64[T, N], the share that a task takes of each of its devices.

    Infinite: devices of this kind do not serve the task.
    """
    allowed: Bool
    """bool[T, M], machines that rules leave open to each kind of task."""

    def select(self, rows: Int64) -> UsualTasks:
        """Return the same tasks for some of the machines."""
        return replace(self, allowed=self.allowed[:, rows])


@dataclass(frozen=True, slots=True)
class Room:
    """The amounts and shares of devices that machines have left."""

    amounts: Int64
    """int64[M, R], free amounts of resources."""
    kind: Int64
    """int64[M], the kind of each machine's devices; at least 0."""
    shares: Float64
    """float64[M, G], free shares of devices, each row ascending."""

    def select(self, rows: Int64) -> Room:
        """Return the room on some of the machines."""
        return Room(self.amounts[rows], self.kind[rows], self.shares[rows])


def take_best_fit(shares: Float64, count: int, share: float) -> tuple[Float64, Bool]:
    """Return the free shares once a task has taken ``share`` of each of ``count`` devices; each row ascends.

    The function also returns bool[M]: whether a machine has so many devices with enough left. The task takes the
    devices with the least left of all that have enough, as the scheduler does within a node.
    """
    short = (np.ascontiguousarray(shares.T) < share - SLACK).sum(axis=0)
    there: Bool = short + count <= shares.shape[1]
    place = np.arange(shares.shape[1])
    taken = (place >= short[:, None]) & (place < (short + count)[:, None]) & there[:, None]
    left = np.where(taken, np.maximum(shares - share, 0.0), shares)
    left.sort(axis=1)
    return left, there


def sum_usable(room: Room, usual: UsualTasks) -> Float64:
    """Return which share of each machine's devices, in devices, a task of each usual kind could use: float64[T, M].
    Cpu, memory and other resources of the machine are ignored.
    """
    found = np.zeros((len(usual.popularity), len(room.kind)))
    known: dict[tuple[int, float, int], Float64] = {}
    for kind in np.unique(room.kind).tolist():
        rows = np.flatnonzero(room.kind == kind)
        # Transposed: numpy sums along the long axis (machines) much faster than along the short one (shares).
        shares = np.ascontiguousarray(room.shares[rows].T)
        for task, (count, share) in enumerate(
            zip(usual.count[:, kind].tolist(), usual.share[:, kind].tolist(), strict=True)
        ):
            if not count or not np.isfinite(share):
                continue
            key = count, share, kind
            if key not in known:
                enough = shares >= share - SLACK
                usable = (shares * enough).sum(axis=0)
                known[key] = np.where(enough.sum(axis=0) >= count, usable, 0.0)
            found[task, rows] = known[key]
    return found


def find_fitting(amounts: Int64, usual: UsualTasks) -> Bool:
    """Return whether a task of each kind fits on each machine, ignoring devices: bool[T, M]."""
    fits = usual.allowed.copy()
    for column in range(amounts.shape[1]):
        asked = usual.requests[:, column]
        if asked.any():
            fits &= asked[:, None] <= amounts[:, column]
    return fits


def expect_usable(room: Room, usual: UsualTasks) -> Float64:
    """Return U, the share of each machine's devices that a random usual task could use on average: float64[M]."""
    usable = sum_usable(room, usual) * find_fitting(room.amounts, usual)
    return usual.popularity @ usable
