"""Keeps the room that members of a gang have left, until new members of the gang take it.

A gang that restarts comes back as new tasks some seconds later. Until then what its former members used on their
machines is kept for it: for other tasks of at most their priority it counts as used. More important tasks may take it,
as they may evict running members. The driver says by records (``RESTART_ROOM_RECORD``) which room is kept and when that
ends, so nothing here depends on time.

A round has one amount of room for all its tasks. So of the jobs for which room is kept only one takes part in a round,
and nobody else does (``firmament.core.requeue.turns``): its own room is free in it, and all other room counts as used.
Ports and claims of devices are no amounts: machines where such room is kept are closed to tasks that ask for the same
port, or that claim devices.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, KeysView, Mapping
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.model import HostPort, TaskClass
from firmament.core.resources import ResourceIndex
from firmament.core.state.machines import MachineTable
from firmament.core.state.tasks import TaskPhase, TaskTable

_MOST = 2**53
"""Limit on an amount: no machine offers more of anything, and sums of a thousand such amounts fit into 64 bits."""

_MOST_TOTALS = 16
"""Sums for so many priorities are kept until something changes."""


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
    came: int
    """Arrival number of the record, in the order of ``tasks.came``."""


class _Table:
    """All ``rooms`` as arrays: ``rows`` of their machines (int64[N], -1 for unknown ones), ``priorities`` (int64[N]),
    ``requests`` (int64[N, K]); their indices ``of_job``, and ``at`` a job's machine.
    """

    def __init__(
        self, rooms: Iterable[RestartRoom], machines: MachineTable, resources: ResourceIndex
    ) -> None:
        self.rooms = list(rooms)
        self.version = (machines.static_version, machines.capacity.shape, resources.version)
        self.rows = np.array([machines.row_of.get(room.machine, -1) for room in self.rooms], dtype=np.int64)
        self.priorities = np.array([room.priority for room in self.rooms], dtype=np.int64)
        self.requests = np.zeros((len(self.rooms), len(resources.names)), dtype=np.int64)
        self.of_job: dict[str, list[int]] = {}
        self.at: dict[tuple[str, int], list[int]] = {}
        for index, room in enumerate(self.rooms):
            vector = resources.vector(room.requests)
            self.requests[index, : len(vector)] = vector
            self.of_job.setdefault(room.job, []).append(index)
            self.at.setdefault((room.job, int(self.rows[index])), []).append(index)
        self._totals: dict[int, Int64] = {}

    def find_counted(self, least: int | None) -> Bool:
        """Return which rooms on known machines have at least this priority: bool[N]."""
        counted: Bool = self.rows >= 0
        return counted if least is None else counted & (self.priorities >= least)

    def sum_all(self, counted: Bool, capacity: Int64) -> Int64:
        """Return int64[M, K], shaped as ``capacity``: what the rooms ``counted`` (by priority, bool[N]) hold."""
        # Limits between two priorities count the same rooms, so they share a sum.
        lowest = int(self.priorities[counted].min())
        found = self._totals.get(lowest)
        if found is None:
            if len(self._totals) >= _MOST_TOTALS:
                self._totals.clear()
            found = self._totals[lowest] = np.zeros_like(capacity)
            np.add.at(found[:, : self.requests.shape[1]], self.rows[counted], self.requests[counted])
            found.flags.writeable = False
        return found


class RestartRooms:
    """The room that is kept for restarting gangs, ``by_uid`` of the tasks that left it.

    ``resources``: the columns of machines.
    """

    def __init__(self, resources: ResourceIndex) -> None:
        self._resources = resources
        self._of_job: Counter[str] = Counter()
        self._exclusive: dict[str, RestartRoom] = {}
        self._table: _Table | None = None
        self._taken = frozenset[int]()
        self.by_uid: dict[str, RestartRoom] = {}

    @property
    def jobs(self) -> KeysView[str]:
        """Ids of the jobs for which room is kept."""
        return self._of_job.keys()

    def put(self, uid: str, payload: bytes | None, came: int) -> tuple[str, ...]:
        """Store the room in a record, None if it is kept no longer; return the machines concerned.

        A record that cannot be read counts as gone. ``came``: arrival number of the record; one that only repeats what
        is known has come before.
        """
        former = self.by_uid.pop(uid, None)
        found = _read(payload, came) if payload else None
        if found is not None and former is not None and found._replace(came=former.came) == former:
            found = former
        self._exclusive.pop(uid, None)
        self._table = None
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

    def sum_kept(
        self, tasks: TaskTable, machines: MachineTable, least: int | None, jobs: Collection[str]
    ) -> Int64 | None:
        """Return int64[M, K]: what is kept for other jobs than ``jobs``; None for nothing, and read-only.

        ``least``: only room of at least this priority counts. Room that new members have taken does not, although its
        record is still there (see ``_list_taken``).
        """
        if not self.by_uid:
            return None
        table = self._get_table(machines)
        counted = table.find_counted(least)
        if not counted.any():
            return None
        apart = [index for job in jobs for index in table.of_job.get(job, ())]
        apart += _list_taken(table, tasks, jobs)
        left_out = np.array([index for index in apart if counted[index]], dtype=np.int64)
        if len(left_out) == np.count_nonzero(counted):
            return None
        total = table.sum_all(counted, machines.capacity)
        if not len(left_out):
            return total
        total = total.copy()
        np.subtract.at(total[:, : table.requests.shape[1]], table.rows[left_out], table.requests[left_out])
        return total

    def sum_beside(
        self, tasks: TaskTable, machines: MachineTable, beside: Collection[int], least: int | None
    ) -> Int64 | None:
        """Return ``sum_kept`` for other jobs than those of the tasks ``beside`` (rows)."""
        if not self.by_uid:
            return None
        return self.sum_kept(tasks, machines, least, {tasks.job[row] for row in beside})

    def note_taken(self, tasks: TaskTable, machines: MachineTable) -> list[str]:
        """Return the machines with room that new members have taken, perhaps in part, since the last call."""
        table = self._get_table(machines)
        before, taken = self._taken, [table.rooms[index] for index in _list_taken(table, tasks, ())]
        self._taken = frozenset(room.came for room in taken)
        return [room.machine for room in taken if room.came not in before]

    def iter_closed(self, content: TaskClass, priority: int, job: str) -> Iterator[RestartRoom]:
        """Yield the room whose ports or devices close machines to tasks of a class with ``priority`` in ``job``."""
        for room in self._exclusive.values():
            if room.job != job and priority <= room.priority and _collides(room, content):
                yield room

    def list_kept_from(self, priority: int, job: str) -> list[RestartRoom]:
        """Return the room that tasks with ``priority`` in ``job`` may not take."""
        return [room for room in self.by_uid.values() if room.job != job and priority <= room.priority]

    def highest_below(self, priority: int) -> int | None:
        """Return the highest priority below ``priority`` for which room is kept, or None."""
        return max((room.priority for room in self.by_uid.values() if room.priority < priority), default=None)

    def _get_table(self, machines: MachineTable) -> _Table:
        version = (machines.static_version, machines.capacity.shape, self._resources.version)
        if self._table is None or self._table.version != version:
            self._table = _Table(self.by_uid.values(), machines, self._resources)
        return self._table


def _list_taken(table: _Table, tasks: TaskTable, jobs: Collection[str]) -> list[int]:
    """Return the rooms (indices) of other jobs than ``jobs`` that new members have taken by a decision.

    From the decision until the driver has seen the member on its machine and removes a record, both the member and the
    room would count. So of a job's rooms on a machine as many are left out as it has assumed tasks there that are not
    older than the room. The driver does the same for each member that it sees, so afterwards nothing changes.
    """
    assumed = tasks.in_state(TaskPhase.ASSUMED)
    left = dict[tuple[str, int], list[int]]()
    taken: list[int] = []
    there = assumed[np.isin(tasks.machine[assumed], table.rows[table.rows >= 0])]
    for row in there[np.argsort(tasks.came[there], kind="stable")].tolist():
        place = (tasks.job[row], int(tasks.machine[row]))
        if place not in table.at or place[0] in jobs:
            continue
        rooms = left.setdefault(place, [*table.at[place]])
        older = next((index for index in rooms if table.rooms[index].came <= tasks.came[row]), None)
        if older is not None:
            rooms.remove(older)
            taken.append(older)
    return taken


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


def _read(payload: bytes, came: int) -> RestartRoom | None:
    """Read the payload of a record with arrival number ``came``; return None for other content."""
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
            came=came,
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None
