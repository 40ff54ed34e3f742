"""Keeps the room that members of a gang have left, until new members of the gang take it.

A gang that restarts comes back as new tasks some seconds later. Until then what its former members used on their
machines is kept for it: for other tasks of at most their priority it counts as used. More important tasks may take it,
as they may evict running members. The driver says by records (``RESTART_ROOM_RECORD``) which room is kept and when that
ends, so nothing here depends on time.

A round has one amount of room for all its tasks. So the room of a gang that takes no part in it counts as used, and
that of a gang that does is free, and its machines are closed to all other tasks of at most its priority in this round.
Ports and claims of devices are no amounts: machines where such room is kept are closed to tasks that ask for the same
port, or that claim devices.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, KeysView, Mapping
from typing import NamedTuple

import numpy as np

from cost_models.interface import Int64
from firmament.core.model import HostPort, TaskClass
from firmament.core.resources import ResourceIndex
from firmament.core.state.machines import MachineTable
from firmament.core.state.tasks import TaskTable

_MOST = 2**53
"""Limit on an amount: no machine offers more of anything, and sums of a thousand such amounts fit into 64 bits."""


class RestartRoom(NamedTuple):
    """What one task has left on its machine, kept for another task of its job."""

    machine: str
    """Name of the machine."""
    job: str
    """Id of the job."""
    priority: int
    """Priority of the task that left."""
    requests: Mapping[str, int]
    """Base units by resource, with ``pods``."""
    ports: tuple[HostPort, ...]
    """The host ports that it used."""
    devices: bool
    """Whether it had claims of devices."""
    namespace: str
    """Namespace of the job, whose tasks alone are told its name."""
    name: str
    """Name of the job, for people."""
    until: str
    """When it lapses, for people."""


class RestartRooms:
    """The room that is kept for restarting gangs, ``by_uid`` of the tasks that left it.

    ``called``: the jobs that take part in the open round, whose room is open to them and closed to others.
    ``resources``: the columns of machines.
    """

    def __init__(self, resources: ResourceIndex) -> None:
        self._resources = resources
        self._of_job: Counter[str] = Counter()
        self._exclusive: dict[str, RestartRoom] = {}
        self._version = -1
        self._requests: Int64 | None = None
        self.by_uid: dict[str, RestartRoom] = {}
        self.called: frozenset[str] = frozenset()

    @property
    def jobs(self) -> KeysView[str]:
        """Ids of the jobs for which room is kept."""
        return self._of_job.keys()

    def put(self, uid: str, payload: bytes | None) -> tuple[str, ...]:
        """Store the room in a record, None if it is kept no longer; return the machines concerned.

        A record that cannot be read counts as gone.
        """
        former = self.by_uid.pop(uid, None)
        found = _read(payload) if payload else None
        self._exclusive.pop(uid, None)
        self._requests = None
        if former is not None:
            self._of_job[former.job] -= 1
            if not self._of_job[former.job]:
                del self._of_job[former.job]
        if found is not None:
            self.by_uid[uid] = found
            self._of_job[found.job] += 1
            if found.ports or found.devices:
                self._exclusive[uid] = found
        return tuple([each.machine for each in (former, found) if each is not None])

    def call(self, jobs: Collection[str]) -> None:
        """Begin a round in which tasks of these ``jobs``, among others, take part."""
        self.called = frozenset(self.jobs & set(jobs))

    def end_round(self) -> frozenset[str]:
        """End a round; return the jobs for whose sake machines were closed in it."""
        called, self.called = self.called, frozenset()
        return called

    def sum_amounts(
        self, rows: Mapping[str, int], capacity: Int64, least: int | None, jobs: Collection[str]
    ) -> Int64 | None:
        """Return int64[M, K], shaped as ``capacity``: what is kept for other jobs than ``jobs``; None for nothing.

        ``rows``: rows of machines by name; ``least``: only room of at least this priority counts.
        """
        if not self.by_uid:
            return None
        counts = [
            room.job not in jobs and (least is None or room.priority >= least) and room.machine in rows
            for room in self.by_uid.values()
        ]
        if not any(counts):
            return None
        requests = self._get_requests()
        at = [
            rows[room.machine] for room, counted in zip(self.by_uid.values(), counts, strict=True) if counted
        ]
        found = np.zeros_like(capacity)
        np.add.at(found[:, : requests.shape[1]], at, requests[counts])
        return found

    def sum_beside(
        self, tasks: TaskTable, machines: MachineTable, beside: Collection[int], least: int | None
    ) -> Int64 | None:
        """Return ``sum_amounts`` for other jobs than those of the tasks ``beside`` (rows)."""
        return self.sum_amounts(machines.row_of, machines.capacity, least, {tasks.job[row] for row in beside})

    def iter_closed(self, content: TaskClass, priority: int, job: str) -> Iterator[RestartRoom]:
        """Yield the room for whose sake machines are closed to tasks of a class with ``priority`` in ``job``."""
        for room in (self.by_uid if self.called else self._exclusive).values():
            if (
                room.job != job
                and priority <= room.priority
                and (room.job in self.called or _collides(room, content))
            ):
                yield room

    def list_kept_from(self, priority: int, job: str) -> list[RestartRoom]:
        """Return the room that tasks with ``priority`` in ``job`` may not take."""
        return [room for room in self.by_uid.values() if room.job != job and priority <= room.priority]

    def highest_below(self, priority: int) -> int | None:
        """Return the highest priority below ``priority`` for which room is kept, or None."""
        return max((room.priority for room in self.by_uid.values() if room.priority < priority), default=None)

    def _get_requests(self) -> Int64:
        """Return what each room holds, in the order of ``by_uid``: int64[N, K]."""
        if self._requests is None or self._version != self._resources.version:
            self._version = self._resources.version
            vectors = [self._resources.vector(room.requests) for room in self.by_uid.values()]
            self._requests = np.zeros((len(vectors), len(self._resources.names)), dtype=np.int64)
            for row, vector in zip(self._requests, vectors, strict=True):
                row[: len(vector)] = vector
        return self._requests


def _collides(room: RestartRoom, content: TaskClass) -> bool:
    """Return whether tasks of a class would take a port, or perhaps a device, that is kept in ``room``."""
    if room.devices and content.claims:
        return True
    return any(
        (ours.protocol, ours.port) == (theirs.protocol, theirs.port)
        and (ours.ip == theirs.ip or not ours.ip or not theirs.ip)
        for ours in room.ports
        for theirs in content.ports
    )


def _read(payload: bytes) -> RestartRoom | None:
    """Read the payload of a record; return None for other content."""
    try:
        content = json.loads(payload)
        requests = content["requests"].items()
        ports = [HostPort(int(port), str(protocol), str(ip)) for protocol, port, ip in content["ports"]]
        return RestartRoom(
            machine=str(content["machine"]),
            job=str(content["job"]),
            priority=int(content["priority"]),
            requests={str(name): min(max(int(amount), 0), _MOST) for name, amount in requests},
            ports=tuple(ports),
            devices=bool(content["devices"]),
            namespace=str(content["namespace"]),
            name=str(content["name"]),
            until=str(content["until"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None
