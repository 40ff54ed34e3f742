"""Decides whether a machine's zones would have room for a task if others left, although no record says who has which
zone.

A record states what zones have left, and what they have in all, but not which tasks have taken the difference. Each
container (in pod scope each pod) of a task that the record counts has one zone for all that it takes exclusively, and a
zone cannot have given away more than it has. Nothing else is known. So there are several possible *worlds*, and a
machine opens for a task only if some zone has room for the whole of it in every one of them. That is stricter than the
kubelet, which may put containers into different zones. But wherever it puts the first containers, a zone with room for
all of them still takes the last. Nor does it hurt if more has become free than was counted on.

Exclusive are, as in upstream's eviction simulation: whole cpus, memory and huge pages of guaranteed tasks, and devices.
Sidecars have a zone like any container, even where the filter treats them differently: they hold it until their task is
gone. If all tasks together should have more of a resource than the zones have given away, no task gives back any of it:
it is not assigned by zone there.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from cost_models.interface import Bool, Int64
from cost_models.numa.requests import Requests

CORE = 1_000

NEVER = 2**62
"""Lack of a zone that has no room, no matter who goes."""

MOST_WORLDS = 2_000
"""Steps of one search for a world without room; beyond that a machine counts as one that does not open."""


@dataclass(slots=True, eq=False)
class ZoneOpening:
    """What machines would take after evictions; see the scheduler's ``Opening`` for what the methods
    guarantee.
    """

    held: Bool
    """bool[S, M], machines that refuse a shape only because of their tasks."""
    open_to_it: Bool
    """bool[M], machines that align under single-numa-node, with a reliable record that counts all their
    tasks.
    """
    requests: Requests
    """Requests of the shapes that wait."""
    residing: Requests
    """Requests of the tasks on machines: what they use of zones."""
    pod_scope: Bool
    """bool[M], whether pods are aligned as a whole."""
    left: Int64
    """int64[R, M, Z], what zones have left, as in ``ZoneRoom``."""
    given: Int64
    """int64[R, M, Z], what zones have given away."""
    machine: Int64
    """int64[A], machines of the tasks that records count, ascending."""
    task: Int64
    """int64[A], these tasks."""
    shape: Int64
    """int64[A], their rows of ``residing``."""
    _first: Int64 = field(init=False)
    """First row of each machine in ``machine``."""
    _exclusive: Int64 = field(init=False)
    """What tasks use of zones alone."""
    _understood: Bool = field(init=False)
    """Tasks whose use of zones is known."""

    def __post_init__(self) -> None:
        self._first = np.searchsorted(self.machine, np.arange(len(self.open_to_it) + 1))
        self._exclusive = exclusive_amounts(self.residing)
        # Resources of which zones have given away at least what all tasks there take: bool[R, M].
        every = np.ones(len(self.task), dtype=np.bool_)
        self._understood = self.given.sum(axis=2) >= self._sum_taken(every)

    def promising(self, shape: int, tasks: Int64) -> Bool:
        """Return bool[M]: machines that could open if all of ``tasks`` went; where it is False they do not."""
        gone = np.isin(self.task, tasks)
        back = self._sum_taken(gone) * self._understood
        threshold = self.requests.threshold[shape, 0]
        fits: Bool = np.ones(self.left.shape[1:], dtype=np.bool_)
        for row in np.flatnonzero(threshold >= 0).tolist():
            most = np.minimum(self.given[row], back[row][:, None])
            fits &= (self.left[row] >= 0) & (self.left[row] + most >= threshold[row])
        return self.open_to_it & fits.any(axis=1)

    def opens(self, shape: int, machine: int, tasks: Collection[int]) -> bool:
        """Return whether the machine would take one task of a shape once ``tasks`` are gone, and nobody else
        has come.
        """
        if not self.open_to_it[machine]:
            return False
        threshold = self.requests.threshold[shape, 0]
        asked = threshold >= 0
        left = self.left[:, machine].T
        listed: Bool = np.all(left[:, asked] >= 0, axis=1)
        if not listed.any():
            return False
        # Tasks that go may have been in zones, too, that the one that comes cannot have.
        lacking = np.where(listed[:, None], np.where(asked, threshold - left, 0), NEVER)
        understood = self._understood[:, machine]
        given = self.given[:, machine].T * understood
        parts = self._parts(machine, tasks) * understood
        return not _world_without_room(lacking, given, parts[(parts > 0).any(axis=1)])

    def _parts(self, machine: int, tasks: Collection[int]) -> Int64:
        """Return int64[N, R]: what each unit of those of ``tasks`` that are on a machine takes exclusively."""
        span = slice(int(self._first[machine]), int(self._first[machine + 1]))
        shapes = self.shape[span][np.isin(self.task[span], list(tasks))]
        units = slice(0, 1) if self.pod_scope[machine] else slice(1, None)
        return self._exclusive[shapes, units].reshape(-1, self._exclusive.shape[2])

    def _sum_taken(self, tasks: Bool) -> Int64:
        """Return int64[R, M]: what some of the residing tasks (bool[A]) take exclusively."""
        machine, amounts = self.machine[tasks], self._exclusive[self.shape[tasks]]
        each = np.where(self.pod_scope[machine][:, None], amounts[:, 0], amounts[:, 1:].sum(axis=1))
        taken = np.zeros(self.left.shape[:2], dtype=np.int64)
        for row in range(len(taken)):
            np.add.at(taken[row], machine, each[:, row])
        return taken


def exclusive_amounts(requests: Requests) -> Int64:
    """Return int64[S, U, R]: of what is subtracted from zones, what the kubelet hands out exclusively."""
    amounts = requests.taken.copy()
    if "cpu" in requests.resources:
        cpu = amounts[:, :, requests.resources.index("cpu")]
        cpu[cpu % CORE > 0] = 0
    return amounts


def _world_without_room(lacking: Int64, given: Int64, parts: Int64) -> bool:
    """Return whether ``parts`` may be in such zones that no zone has room once they are gone; also True if the search
    takes too long.

    ``lacking``: int64[Z, r], what each zone lacks (0 or less for nothing); ``given``: int64[Z, r], what it has given
    away; ``parts``: int64[N, r]. A part that can have been nowhere gives nothing back.
    """
    if (lacking <= 0).all(axis=1).any():
        return False
    order = np.lexsort(parts.T)[::-1] if len(parts) else np.empty(0, dtype=np.int64)
    ordered = [tuple(part) for part in parts[order].tolist()]
    hopeless = np.full(lacking.shape, NEVER)
    if not _Worlds(hopeless.tolist(), given.tolist(), ordered).lacks_room(0, 0):
        return True  # there is no world at all: what the record says and who is there contradict each other
    return _Worlds(lacking.tolist(), given.tolist(), ordered).lacks_room(0, 0)


class _Worlds:
    """Puts parts into zones one by one, the largest first, and drops a world as soon as a zone has room."""

    def __init__(
        self, lacking: list[list[int]], given: list[list[int]], parts: list[tuple[int, ...]]
    ) -> None:
        self._lacking = lacking
        self._given = given
        self._parts = [part for part in parts if any(_all_at_most(part, zone) for zone in given)]
        self._steps = 0

    def lacks_room(self, index: int, begin: int) -> bool:
        """Return whether the parts from ``index`` on can go somewhere, equal ones from zone ``begin`` on."""
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
