"""Keeps the capacity (*room*) that members of a gang have left until new members of the gang take it.

A gang that restarts comes back as new tasks some seconds later. Until the new members come, what the gang's former
members used on their machines is kept for it: for other tasks of at most their priority, this room counts as used.
More important tasks may take the kept room, just as they may evict running members. The driver says by records
(``RESTART_ROOM_RECORD``) which room is kept and when that ends, so nothing here depends on time.

A round counts the same free amount of a machine for all its tasks. If room is kept for several jobs, a round
therefore has tasks of only one of these jobs, and no other tasks (``firmament.core.requeue.turns``). In a round for a
job with kept room, that room is free, and the kept room of all other jobs counts as used. Ports and claims of devices
are no amounts. A machine where a gang's port or devices are kept is therefore closed to tasks that ask for the same
port, or that claim devices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, KeysView

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.model import TaskClass
from firmament.core.resources import ResourceIndex
from firmament.core.state.machines import MachineTable
from firmament.core.state.restarts.room_arrays import RoomTable
from firmament.core.state.restarts.room_records import RestartRoom, read_room
from firmament.core.state.tasks import TaskTable

MOST_KEEPERS = 10
"""If a task does not fit because of kept room, its message names at most this many jobs for which room is kept."""


class RestartRooms:
    """The capacity (*room*) that is kept for restarting gangs.

    ``by_uid``: kept rooms by uid of the task that left them.

    ``resources``: the columns of the machine table.
    """

    def __init__(self, resources: ResourceIndex) -> None:
        self._resources = resources
        self._of_job: Counter[str] = Counter()
        self._exclusive: set[str] = set()
        self._table: RoomTable | None = None
        self._taken = frozenset[int]()
        self.by_uid: dict[str, RestartRoom] = {}

    @property
    def jobs(self) -> KeysView[str]:
        """IDs of the jobs for which room is kept until they restart."""
        return self._of_job.keys()

    def put(self, uid: str, payload: bytes | None, arrival_number: int) -> tuple[str, ...]:
        """Store the kept room in a record (None: the room is no longer kept); return the machines concerned.

        An unreadable record counts as deleted. ``arrival_number``: that of the record. If the record only
        repeats the known one, the number of the kept room stays the same.
        """
        former = self.by_uid.pop(uid, None)
        found = read_room(payload, arrival_number) if payload else None
        if (
            found is not None
            and former is not None
            and found._replace(arrival_number=former.arrival_number) == former
        ):
            found = former
        self._exclusive.discard(uid)
        self._table = None
        if former is not None:
            self._of_job[former.job] -= 1
            if not self._of_job[former.job]:
                del self._of_job[former.job]
        if found is not None:
            self.by_uid[uid] = found
            self._of_job[found.job] += 1
            if found.ports or found.devices:
                self._exclusive.add(uid)
        return tuple([each.machine for each in (former, found) if each is not None])

    def sum_kept(
        self, tasks: TaskTable, machines: MachineTable, least: int | None, jobs: Collection[str]
    ) -> Int64 | None:
        """Return what is kept for jobs other than ``jobs``: int64[M, K], read-only; None for nothing.

        ``least``: only kept room of at least this priority counts. Room that new members have taken does not count,
        even if its record still exists (see ``RoomTable.list_taken``).
        """
        if not self.by_uid:
            return None
        table = self._get_table(machines)
        counted = table.find_counted(least)
        if not counted.any():
            return None
        own = [index for job in jobs for index in table.of_job.get(job, ())]
        apart = {*own, *table.list_taken(tasks)}
        left_out = np.array([index for index in sorted(apart) if counted[index]], dtype=np.int64)
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
        """Return ``sum_kept`` for jobs other than those of the tasks ``beside`` (rows)."""
        if not self.by_uid:
            return None
        return self.sum_kept(tasks, machines, least, {tasks.job[row] for row in beside})

    def note_taken(self, tasks: TaskTable, machines: MachineTable) -> list[str]:
        """Return the machines with kept room that new members have taken, perhaps in part, since the last call."""
        table = self._get_table(machines)
        before, taken = self._taken, [table.rooms[index] for index in table.list_taken(tasks)]
        self._taken = frozenset(room.arrival_number for room in taken)
        return [room.machine for room in taken if room.arrival_number not in before]

    def find_priorities(self, machines: MachineTable, job: str) -> dict[str, int]:
        """Return the machines on which room is kept for a job, and the highest priority of the kept room there."""
        if job not in self._of_job:
            return {}
        table, found = self._get_table(machines), dict[str, int]()
        for room in (table.rooms[index] for index in table.of_job[job]):
            found[room.machine] = max(room.priority, found.get(room.machine, room.priority))
        return found

    def find_closed(
        self, machines: MachineTable, content: TaskClass, priority: int, job: str
    ) -> Collection[int]:
        """Return the machines (rows) where kept ports or devices close the machine to ``content``.

        ``content``: a class, with ``priority``, in ``job``.
        """
        if not self._exclusive or not (content.ports or content.claims):
            return ()
        found: list[int] = self._get_table(machines).find_closed(content, priority, job).tolist()
        return found

    def list_keepers(
        self, machines: MachineTable, priority: int, job: str, refused: Bool
    ) -> list[tuple[RestartRoom, str, Int64]]:
        """Return whose kept room tasks with ``priority`` in ``job`` may not take.

        ``refused``: bool[M], the machines that count.

        For each job, the result has one of its kept rooms, the time at which the last of them lapses, and the
        machines (rows). Each machine counts for one job. If there are more jobs, only the ``MOST_KEEPERS`` jobs with
        the most machines are returned.
        """
        table = self._get_table(machines)
        kept = np.flatnonzero(table.find_kept_from(priority, job))
        kept = kept[refused[table.rows[kept]]]
        rows, first = np.unique(table.rows[kept], return_index=True)
        _, alike, of_job, counts = np.unique(
            table.job_codes[kept[first]], return_index=True, return_inverse=True, return_counts=True
        )
        found = list[tuple[RestartRoom, str, Int64]]()
        for each in np.argsort(-counts, kind="stable").tolist():
            room = table.rooms[kept[first[alike[each]]]]
            found.append((room, table.until[room.job], rows[of_job == each]))
            if len(found) == MOST_KEEPERS:
                break
        return found

    def highest_below(self, priority: int) -> int | None:
        """Return the highest priority below ``priority`` for which room is kept for a gang; None if there is none."""
        return max((room.priority for room in self.by_uid.values() if room.priority < priority), default=None)

    def _get_table(self, machines: MachineTable) -> RoomTable:
        version = (machines.static_version, machines.capacity.shape, self._resources.version)
        if self._table is None or self._table.version != version:
            self._table = RoomTable(self.by_uid.values(), machines, self._resources)
        return self._table
