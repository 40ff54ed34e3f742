"""The room that is kept for restarting gangs as arrays, for sums over machines."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.model import TaskClass
from firmament.core.resources import ResourceIndex
from firmament.core.state.machines import MachineTable
from firmament.core.state.restarts.room import RestartRoom
from firmament.core.state.tasks import TaskPhase, TaskTable

_MOST_TOTALS = 16
"""Sums for so many priorities are kept until something changes."""


class RoomTable:
    """All ``rooms`` as arrays: ``rows`` of their machines (int64[N], -1 for unknown ones), ``priorities`` (int64[N]),
    ``requests`` (int64[N, K]), ``job_codes`` (int64[N], equal for rooms of one job); their indices ``of_job``; and
    ``until`` when the last of a job's rooms lapses.
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
        self.until: dict[str, str] = {}
        self._of_port: dict[tuple[str, int], dict[str, list[int]]] = {}
        for index, room in enumerate(self.rooms):
            vector = resources.vector(room.requests)
            self.requests[index, : len(vector)] = vector
            self.of_job.setdefault(room.job, []).append(index)
            self.until[room.job] = max(room.until, self.until.get(room.job, ""))
            for port in room.ports:
                by_address = self._of_port.setdefault((port.protocol, port.port), {})
                by_address.setdefault(port.ip, []).append(index)
        codes = {job: code for code, job in enumerate(self.of_job)}
        self.job_codes = np.array([codes[room.job] for room in self.rooms], dtype=np.int64)
        self._with_devices = [index for index, room in enumerate(self.rooms) if room.devices]
        self._totals: dict[int, Int64] = {}
        self._taken: tuple[int, list[int]] = (-1, [])

    def find_counted(self, least: int | None) -> Bool:
        """Return which rooms on known machines have at least this priority: bool[N]."""
        counted: Bool = self.rows >= 0
        return counted if least is None else counted & (self.priorities >= least)

    def list_taken(self, tasks: TaskTable) -> list[int]:
        """Return the rooms (indices) that new members have taken by a decision."""
        if self._taken[0] != tasks.changes:
            self._taken = tasks.changes, _list_taken(self, tasks)
        return self._taken[1]

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

    def find_kept_from(self, priority: int, job: str) -> Bool:
        """Return which rooms on known machines tasks with ``priority`` in ``job`` may not take: bool[N]."""
        kept = self.find_counted(priority)
        kept[self.of_job.get(job, [])] = False
        return kept

    def find_closed(self, content: TaskClass, priority: int, job: str) -> Int64:
        """Return the machines (rows) that kept ports or devices close to a class with ``priority`` in ``job``."""
        found = self._with_devices if content.claims else []
        for port in content.ports:
            for address, indices in self._of_port.get((port.protocol, port.port), {}).items():
                if address == port.ip or not address or not port.ip:
                    found = found + indices
        closed = np.array(found, dtype=np.int64)
        return np.unique(self.rows[closed[self.find_kept_from(priority, job)[closed]]])


def _list_taken(table: RoomTable, tasks: TaskTable) -> list[int]:
    """Return the rooms (indices) that new members have taken by a decision.

    From the decision until the driver has seen the member on its machine and removes a record, both the member and the
    room would count. The driver ends one room for each member that comes. So of a job's rooms on a machine as many are
    taken as it has assumed tasks there that are not older than the room. If all other rooms of the job will end as
    well, because at least as many members have places elsewhere, these are taken, too; members for which others are
    being evicted do not count in that, as they may lose their places.
    """
    taken: list[int] = []
    left = {job: list(indices) for job, indices in table.of_job.items()}
    others: dict[str, list[int]] = {}
    assumed = tasks.in_state(TaskPhase.ASSUMED)
    for row in assumed[np.argsort(tasks.came[assumed], kind="stable")].tolist():
        job = tasks.job[row]
        if not left.get(job):
            continue
        came, at = tasks.came[row], tasks.machine[row]
        there = (each for each in left[job] if table.rows[each] == at and table.rooms[each].came <= came)
        index = next(there, None)
        if index is not None:
            left[job].remove(index)
            taken.append(index)
        elif not tasks.owed[row]:
            others.setdefault(job, []).append(int(came))
    for job, arrivals in others.items():
        latest = max((table.rooms[index].came for index in left[job]), default=0)
        if sum(came >= latest for came in arrivals) >= len(left[job]):
            taken += left[job]
    return taken
