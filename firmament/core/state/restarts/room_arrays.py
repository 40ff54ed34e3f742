"""Represents the room that is kept for restarting gangs as arrays, for sums over machines."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.model import TaskClass
from firmament.core.resources import ResourceIndex
from firmament.core.state.machines import MachineTable
from firmament.core.state.restarts.room_records import RestartRoom
from firmament.core.state.tasks import TaskPhase, TaskTable

_MOST_TOTALS = 16
"""For this many priorities, sums are kept until something changes."""


class RoomTable:
    """All kept ``rooms`` (what a former task has left on its machine) as arrays.

    ``rows``: the machines of the rooms (int64[N], -1 for unknown ones). ``priorities``: int64[N]. ``requests``:
    int64[N, K]. ``job_codes``: int64[N], equal for kept rooms of one job. ``of_job``: the indices of each job's kept
    rooms. ``until``: when the last of each job's kept rooms lapses.
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
        """Return which kept rooms are on known machines and have at least the priority ``least``: bool[N]."""
        counted: Bool = self.rows >= 0
        return counted if least is None else counted & (self.priorities >= least)

    def list_taken(self, tasks: TaskTable) -> list[int]:
        """Return the kept rooms (indices) that new members have taken by a round's decision."""
        if self._taken[0] != tasks.changes:
            self._taken = tasks.changes, _list_taken(self, tasks)
        return self._taken[1]

    def sum_all(self, counted: Bool, capacity: Int64) -> Int64:
        """Return the amounts that some of the kept rooms reserve on each machine: int64[M, K], as ``capacity``.

        ``counted``: bool[N], which of the kept rooms; these are all from some priority on.
        """
        # Limits between the same two priorities count the same kept rooms, so they share a sum.
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
        """Return which kept rooms on known machines tasks with ``priority`` in ``job`` may not take: bool[N]."""
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
    """Return the kept rooms (indices) that new members have taken by a round's decision.

    Between the decision and the removal of a record, after the driver has seen the member on its machine, both the
    member and the kept room would count. For each member that comes, the driver ends one kept room. Meanwhile each
    assumed task of a job makes one of the job's kept rooms on its machine count as taken, unless the task is older
    than the kept room. All other kept rooms of the job end, too, if at least as many members are placed elsewhere;
    those kept rooms then also count as taken. Members for which other tasks are being evicted do not count, as they
    may lose their machines.
    """
    taken: list[int] = []
    left = {job: list(indices) for job, indices in table.of_job.items()}
    others: dict[str, list[int]] = {}
    assumed = tasks.in_state(TaskPhase.ASSUMED)
    for row in assumed[np.argsort(tasks.arrival_number[assumed], kind="stable")].tolist():
        job = tasks.job[row]
        if not left.get(job):
            continue
        number, at = tasks.arrival_number[row], tasks.machine[row]
        there = (
            each
            for each in left[job]
            if table.rows[each] == at and table.rooms[each].arrival_number <= number
        )
        index = next(there, None)
        if index is not None:
            left[job].remove(index)
            taken.append(index)
        elif not tasks.owed[row]:
            others.setdefault(job, []).append(int(number))
    for job, arrivals in others.items():
        latest = max((table.rooms[index].arrival_number for index in left[job]), default=0)
        if sum(number >= latest for number in arrivals) >= len(left[job]):
            taken += left[job]
    return taken
