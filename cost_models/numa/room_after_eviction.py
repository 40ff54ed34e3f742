"""Decides whether a task would fit in a machine's zones if others left, without knowing which task has which zone.

A record states what zones have in all and what they have left, but not which tasks have the difference. Two facts are
certain: each container (in pod scope each pod) of a counted task has one zone for all that it takes exclusively, and
a zone cannot give away more than it has. Several *worlds* (distributions of tasks over zones) are therefore possible,
and a machine opens for a task only if in each world some zone has room for the whole task. The kubelet is less
strict, as it may put containers into different zones; but wherever it puts the first containers, a zone with room for
all of them takes the last. Nothing goes wrong if more becomes free than expected.

As in upstream's eviction simulation, tasks take these exclusively: devices, and for guaranteed tasks whole cpus,
memory and huge pages. A sidecar has a zone like any container until its task is gone, even where the filter treats
sidecars differently. If a machine's tasks take more of a resource in all than its zones have given away, the model
treats the resource as not assigned by zone on this machine, and no task gives any of it back.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from cost_models.interface import Bool, Int64
from cost_models.numa.requests import Requests

CORE = 1_000

NEVER = 2**62
"""The amount that a zone is said to lack if it has no room, whichever tasks leave."""

MOST_WORLDS = 2_000
"""Most steps of a search for a world without room; if a search is longer, its machine counts as never having room."""


@dataclass(slots=True, eq=False)
class ZonesAfterEviction:
    """Says which tasks machines would take after evictions; ``RoomAfterEviction`` states what its methods guarantee."""

    held: Bool
    """bool[S, M], whether a machine refuses a shape only because of the tasks on the machine."""
    open_to_it: Bool
    """bool[M], whether a machine aligns under single-numa-node, and has a reliable record that counts all of
    its tasks.
    """
    requests: Requests
    """Requests of the waiting shapes."""
    residing: Requests
    """Requests of the tasks on machines: what they use of zones."""
    pod_scope: Bool
    """bool[M], whether pods are aligned as a whole."""
    left: Int64
    """int64[R, M, Z], amounts left in zones, as in ``ZoneRoom``."""
    given: Int64
    """int64[R, M, Z], amounts that zones have given away."""
    machine: Int64
    """int64[A], the machine of each task that records count, ascending."""
    task: Int64
    """int64[A], the row of each of the tasks."""
    shape: Int64
    """int64[A], the row in ``residing`` of each of the tasks."""
    _first: Int64 = field(init=False)
    """First row of each machine in ``machine``."""
    _exclusive: Int64 = field(init=False)
    """Amounts that tasks take exclusively."""
    _understood: Bool = field(init=False)
    """Whether zones have given away at least what all tasks on the machine take: bool[R, M]."""

    def __post_init__(self) -> None:
        self._first = np.searchsorted(self.machine, np.arange(len(self.open_to_it) + 1))
        self._exclusive = exclusive_amounts(self.residing)
        every = np.ones(len(self.task), dtype=np.bool_)
        # False for a resource that a machine does not assign by zone.
        self._understood = self.given.sum(axis=2) >= self._sum_taken(every)

    def find_possible(self, shape: int, tasks: Int64) -> Bool:
        """Return the machines that may take a task of a shape if all of ``tasks`` leave; all others
        certainly do not: bool[M].
        """
        gone = np.isin(self.task, tasks)
        back = self._sum_taken(gone) * self._understood
        threshold = self.requests.threshold[shape, 0]
        fits: Bool = np.ones(self.left.shape[1:], dtype=np.bool_)
        for row in np.flatnonzero(threshold >= 0).tolist():
            most = np.minimum(self.given[row], back[row][:, None])
            fits &= (self.left[row] >= 0) & (self.left[row] + most >= threshold[row])
        return self.open_to_it & fits.any(axis=1)

    def admits(self, shape: int, machine: int, tasks: Collection[int]) -> bool:
        """Return whether a machine takes a task of a shape once ``tasks`` have left, if no other is placed there."""
        if not self.open_to_it[machine]:
            return False
        threshold = self.requests.threshold[shape, 0]
        asked = threshold >= 0
        left = self.left[:, machine].T
        listed: Bool = np.all(left[:, asked] >= 0, axis=1)
        if not listed.any():
            return False
        # The leaving tasks may also be in zones that are too small for the new task.
        lacking = np.where(listed[:, None], np.where(asked, threshold - left, 0), NEVER)
        understood = self._understood[:, machine]
        given = self.given[:, machine].T * understood
        parts = self._parts(machine, tasks) * understood
        return not _world_without_room(lacking, given, parts[(parts > 0).any(axis=1)])

    def _parts(self, machine: int, tasks: Collection[int]) -> Int64:
        """Return what each unit of ``tasks`` on this machine takes exclusively: int64[N, R]."""
        span = slice(int(self._first[machine]), int(self._first[machine + 1]))
        shapes = self.shape[span][np.isin(self.task[span], list(tasks))]
        units = slice(0, 1) if self.pod_scope[machine] else slice(1, None)
        return self._exclusive[shapes, units].reshape(-1, self._exclusive.shape[2])

    def _sum_taken(self, tasks: Bool) -> Int64:
        """Return what ``tasks`` (bool[A]) take exclusively on each machine: int64[R, M]."""
        machine, amounts = self.machine[tasks], self._exclusive[self.shape[tasks]]
        each = np.where(self.pod_scope[machine][:, None], amounts[:, 0], amounts[:, 1:].sum(axis=1))
        taken = np.zeros(self.left.shape[:2], dtype=np.int64)
        for row in range(len(taken)):
            np.add.at(taken[row], machine, each[:, row])
        return taken


def exclusive_amounts(requests: Requests) -> Int64:
    """Return which part of each unit's amounts the kubelet assigns exclusively: int64[S, U, R]."""
    amounts = requests.taken.copy()
    if "cpu" in requests.resources:
        cpu = amounts[:, :, requests.resources.index("cpu")]
        cpu[cpu % CORE > 0] = 0
    return amounts


def _world_without_room(lacking: Int64, given: Int64, parts: Int64) -> bool:
    """Return whether the zones of ``parts`` may be such that no zone has room once the parts have left.

    Also True if the search takes too long.

    ``lacking``: int64[Z, r], what each zone lacks (0 or less for nothing); ``given``: int64[Z, r], what it has given
    away; ``parts``: int64[N, r]. A part that no zone can hold frees nothing.
    """
    if (lacking <= 0).all(axis=1).any():
        return False
    order = np.lexsort(parts.T)[::-1] if len(parts) else np.empty(0, dtype=np.int64)
    ordered = [tuple(part) for part in parts[order].tolist()]
    hopeless = np.full(lacking.shape, NEVER)
    if not _Worlds(hopeless.tolist(), given.tolist(), ordered).lacks_room(0, 0):
        return (
            # The record contradicts the tasks on the machine, so no distribution over zones is possible.
            True
        )
    return _Worlds(lacking.tolist(), given.tolist(), ordered).lacks_room(0, 0)


class _Worlds:
    """Searches possible distributions of leaving tasks over zones ("worlds") for one after which no zone has room.

    A *part* is what one unit of the leaving tasks, a container or a whole pod, takes exclusively. The largest come
    first.
    """

    def __init__(
        self, lacking: list[list[int]], given: list[list[int]], parts: list[tuple[int, ...]]
    ) -> None:
        self._lacking = lacking
        self._given = given
        self._parts = [part for part in parts if any(_all_at_most(part, zone) for zone in given)]
        self._steps = 0

    def lacks_room(self, index: int, begin: int) -> bool:
        """Return whether the parts from ``index`` on can be distributed such that no zone has room.

        The zones of the parts before ``index`` are given. Of equal parts, a later one is tried only in the zone of the
        earlier one (``begin``) or in a later zone, as the order of equal parts does not matter.
        """
        self._steps += 1
        if index == len(self._parts) or self._steps > MOST_WORLDS:
            return True
        part = self._parts[index]
        same = index + 1 < len(self._parts) and self._parts[index + 1] == part
        for zone in range(begin, len(self._given)):
            if not _all_at_most(part, self._given[zone]):
                continue
            self._move(zone, part, 1)
            found = any(each > 0 for each in self._lacking[zone]) and self.lacks_room(
                index + 1, zone if same else 0
            )
            self._move(zone, part, -1)
            if found:
                return True
        return False

    def _move(self, zone: int, part: tuple[int, ...], times: int) -> None:
        for row, amount in enumerate(part):
            self._lacking[zone][row] -= amount * times
            self._given[zone][row] -= amount * times


def _all_at_most(part: tuple[int, ...], zone: list[int]) -> bool:
    return all(amount <= most for amount, most in zip(part, zone, strict=True))
