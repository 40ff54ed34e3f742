"""Reserves machines for whole gangs that other tasks keep overtaking.

A gang of small tasks has the same problem as a single large task. While other tasks come and go, there is never
enough free capacity for all members at once. If a number of rounds have passed over a gang, the next round looks for
machines to reserve. Machines to be reserved must be able to take all members that the gang lacks, once the tasks
expected to end there have ended (see ``placement.gang_room``). The reserved machines are closed to all other tasks of
the same or lower priority, so that they drain. Reserved machines are open again when the gang is placed, the
reservation lapses, or the capacity can no longer become free. The waiting time is bounded: when every task that ran
on the reserved machines at the time of the reservation has ended, the gang is placed, unless the reservation has
lapsed before.

At any time, at most one machine in ``MACHINES_PER_GANG_MACHINE`` is reserved for gangs; a single gang may have more
if it needs them. Namespaces take turns, so that many gangs of one namespace do not delay the gangs of other
namespaces. If a gang would fit only on machines reserved for another gang, it waits until these are free, and no
third gang gets a reservation before it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from cost_models.interface import Int64
from firmament.core.configuration import RoundOptions
from firmament.core.filters.static_rows import StaticRows
from firmament.core.queue.lacking_quota import find_lacking_quota
from firmament.core.queue.lasting_use import lasting_use
from firmament.core.queue.namespace_turns import Turns, namespaces_of
from firmament.core.queue.stated_ends import find_start
from firmament.core.rules.gangs.members import count_missing_members, describe_needs, list_able_members
from firmament.core.rules.tree_groups.compilation import list_groups
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import UNGROUPED, TaskPhase
from firmament.core.state.waiting import activate_members, count_anew

MACHINES_PER_GANG_MACHINE = 10


@dataclass(slots=True)
class KeptPart:
    """Capacity for ``units`` tasks of a class (row), kept free on a machine (by name)."""

    machine: str
    cls: int
    units: int


@dataclass(slots=True)
class GangReservation:
    """The machines, and the capacity on each, that are reserved for a gang."""

    job: str
    """ID of the gang's job."""
    priority: int
    """The highest priority of the gang's members."""
    parts: list[KeptPart]
    """The capacity that is reserved on each machine."""
    rounds: int
    """After how many more rounds that place something the reservation lapses."""
    until: float
    """The time at which the reservation lapses, in seconds since the epoch."""
    starts: float = -math.inf
    """The time at which all of the gang will fit, at the latest."""
    machines: frozenset[str] = field(init=False)
    """Names of the reserved machines."""

    def __post_init__(self) -> None:
        self.machines = frozenset(part.machine for part in self.parts)


class GangReservations:
    """The reservations of gangs: ``held``, by job.

    For gangs that are ``due``, the next round looks for machines.
    """

    def __init__(self, options: RoundOptions, turns: Turns) -> None:
        self.options = options
        self._turns = turns
        self._too_large: set[str] = set()
        self.held: dict[str, GangReservation] = {}
        self.due: frozenset[str] = frozenset()
        self.sought: frozenset[str] = frozenset()
        """Gangs that needed a reservation when the open round began."""

    def iter_closed(
        self, priority: int, job: str, ends: float, room: Mapping[str, int] = MappingProxyType({})
    ) -> Iterator[str]:
        """Yield the machines that reservations of gangs close to tasks of ``priority`` in ``job``.

        ``ends``: when the tasks of ``job`` will have ended; a machine is open to tasks that end before the reserved
        capacity is needed.

        ``room``: the machines on which capacity is kept for a restart of the tasks' own job, and the priority of this
        capacity.
        """
        for held in self.held.values():
            if held.job != job and priority <= held.priority and ends > held.starts:
                yield from (name for name in held.machines if room.get(name, UNGROUPED) < held.priority)

    def list_rows(self, cluster: Cluster) -> list[int]:
        """Return the rows of the machines that are reserved for gangs."""
        row_of = cluster.machines.row_of
        names = {name for held in self.held.values() for name in held.machines}
        return sorted(row_of[name] for name in names if name in row_of)

    def renumber(self, new_row: Int64) -> None:
        """Move classes to new rows: ``new_row[old]``, -1 for removed classes."""
        for held in self.held.values():
            for part in held.parts:
                part.cls = int(new_row[part.cls]) if part.cls >= 0 else -1

    # --- before a round ----------------------------------------------------------------------------------------

    def refresh(self, cluster: Cluster, static_rows: StaticRows, starved: Int64, now: float) -> None:
        """Drop reservations that are no longer needed, and choose the gang that is due next.

        Only gangs of ``starved`` tasks (rows) are considered. The members of the chosen gang take part in the next
        round.
        """
        self._drop_ended(cluster, static_rows, now)
        self._drop_without_quota(cluster)
        starved = starved[cluster.tasks.passed_over[starved] >= self.options.reserve_after_rounds]
        gangs = cluster.jobs.gangs
        self.due = frozenset(job for job in self.due if job in gangs and job not in self.held)
        if self.due or not len(starved):
            return
        if self._too_large and self.held:
            return  # While one gang is too large to fit beside the existing reservations, no other gang gets one.
        hopeless: set[str] = set()
        for task in self._turns.order(cluster, starved):
            job_id = cluster.tasks.job[task]
            job = cluster.jobs.gang(job_id)
            if job is None or job_id in self.held or job_id in self._too_large or job_id in hopeless:
                continue
            if len(list_able_members(cluster, job, now)) < count_missing_members(cluster, job):
                hopeless.add(job_id)
                _count_anew(cluster, job_id)
                continue
            self.due = frozenset({job_id})
            activate_members(cluster, job_id)
            return

    def expect(self, cluster: Cluster, now: float) -> None:
        """Compute when each gang with a reservation will fit, at the latest."""
        for held in self.held.values():
            held.starts = find_start(cluster, _sum_up(cluster, held), now)

    def open_round(self, cluster: Cluster) -> None:
        """Begin a round that looks for machines for those gangs that need a reservation and take part in the round."""
        waits = cluster.tasks.put_off
        self.sought = frozenset(job for job in self.due if not waits[cluster.jobs.members(job)].any())

    def count_round(self) -> None:
        """Count a round that passed over gangs with a reservation."""
        for held in self.held.values():
            held.rounds -= 1

    def _drop_ended(self, cluster: Cluster, static_rows: StaticRows, now: float) -> None:
        if not self.held:
            self._too_large.clear()
            return
        rows = {
            cluster.machines.row_of.get(name, -1) for held in self.held.values() for name in held.machines
        }
        lasting = lasting_use(cluster, np.array(sorted(rows - {-1}), dtype=np.int64))
        for held in list(self.held.values()):
            if not self._still_needed(cluster, static_rows, held, lasting, now):
                self._drop(cluster, held)

    def _drop_without_quota(self, cluster: Cluster) -> None:
        """Drop reservations of gangs that lack quota now, and put off gangs that are due but lack quota.

        A reserved machine would not help a gang that lacks quota.
        """
        first = {
            job: int(waiting[0]) for job in (*self.held, *self.due) if len(waiting := _waiting(cluster, job))
        }
        rows = np.array([*first.values()], dtype=np.int64)
        for job, lacks in zip(first, find_lacking_quota(cluster, rows).tolist(), strict=True):
            if lacks:
                self.due -= {job}
                if job in self.held:
                    self._drop(cluster, self.held[job])
                _count_anew(cluster, job)

    def _drop(self, cluster: Cluster, held: GangReservation) -> None:
        del self.held[held.job]
        self._too_large.clear()
        for name in held.machines:
            cluster.mark(name)

    def _still_needed(
        self, cluster: Cluster, static_rows: StaticRows, held: GangReservation, lasting: Int64, now: float
    ) -> bool:
        job = cluster.jobs.gang(held.job)
        if job is None or not 0 < count_missing_members(cluster, job) <= sum(
            part.units for part in held.parts
        ):
            return False
        if not len(_waiting(cluster, held.job)):
            return False
        if held.rounds <= 0 or now >= held.until:
            _count_anew(cluster, held.job)
            return False
        return _has_hope(cluster, static_rows, held, lasting)

    # --- after a round -----------------------------------------------------------------------------------------

    def keep(
        self,
        cluster: Cluster,
        found: Mapping[str, list[KeptPart]],
        now: float,
    ) -> None:
        """Reserve what a round has found for gangs that were due (by job).

        If a round found nothing for a gang, the count of rounds that passed over it begins anew. The counts of all
        equal gangs begin anew, too, so that no round searches for them in vain. If a gang fits only on machines
        reserved for other gangs, it waits for these reservations to end, and comes next.
        """
        sought, self.sought = self.sought, frozenset()
        self.due -= sought
        for job_id in sorted(sought):
            job = cluster.jobs.gang(job_id)
            if job is None or count_missing_members(cluster, job) <= 0:
                continue
            if job_id in found:
                self._keep(cluster, job_id, found[job_id], now)
            else:
                self._count_alike_anew(cluster, job_id)

    def _count_alike_anew(self, cluster: Cluster, job_id: str) -> None:
        """Reset the count of rounds that passed over a gang, and the counts of gangs that need equal machines."""
        looks = _describe(cluster, job_id)
        tasks = cluster.tasks
        pending = tasks.in_state(TaskPhase.PENDING)
        starved = pending[tasks.passed_over[pending] >= self.options.reserve_after_rounds]
        for name in dict.fromkeys([job_id, *(tasks.job[row] for row in starved.tolist())]):
            if name == job_id or _describe(cluster, name) == looks:
                _count_anew(cluster, name)

    def _keep(self, cluster: Cluster, job_id: str, parts: list[KeptPart], now: float) -> None:
        members = _waiting(cluster, job_id)
        made = GangReservation(
            job_id,
            int(cluster.tasks.priority[members].max()) if len(members) else 0,
            parts,
            self.options.reserve_for_rounds,
            now + self.options.reserve_for,
        )
        kept = {name for held in self.held.values() for name in held.machines}
        both = len(kept) + len(made.machines)
        if kept and (kept & made.machines or both * MACHINES_PER_GANG_MACHINE > len(cluster.machines)):
            self._too_large.add(job_id)  # The gang stays in ``_too_large`` until a reservation ends.
            return
        self.held[job_id] = made
        if len(members):
            self._turns.serve(namespaces_of(cluster, members[:1])[0])


def _has_hope(cluster: Cluster, static_rows: StaticRows, held: GangReservation, lasting: Int64) -> bool:
    """Return whether reserved machines are usable, and will have enough free once tasks that end have ended."""
    machines, needed = cluster.machines, _sum_up(cluster, held)
    for part in held.parts:
        row = machines.row_of.get(part.machine)
        if row is None or part.cls < 0:
            return False
        if not static_rows.get(cluster.classes.rows[part.cls].shape).feasible[row]:
            return False
    return all(
        (machines.capacity[row] - lasting[row] >= amounts)[amounts > 0].all()
        for row, amounts in needed.items()
    )


def _sum_up(cluster: Cluster, held: GangReservation) -> dict[int, Int64]:
    """Return what is reserved on each machine: int64[K] by row; -1 for a machine or class that no longer exists."""
    machines = cluster.machines
    needed: dict[int, Int64] = {}
    for part in held.parts:
        row = machines.row_of.get(part.machine, -1) if part.cls >= 0 else -1
        request = np.zeros(machines.capacity.shape[1], dtype=np.int64)
        if row >= 0:
            own = cluster.request_of(part.cls)
            request[: len(own)] = own * part.units
        needed[row] = needed.get(row, np.zeros_like(request)) + request
    return needed


def _describe(cluster: Cluster, job_id: str) -> Hashable:
    """Return a key that is equal for gangs that may use equal machines."""
    job = cluster.jobs.gang(job_id)
    if job is None:
        return job_id
    members = _waiting(cluster, job_id)
    if job_id in list_groups(cluster) or cluster.jobs.count_members(job_id) > len(members):
        return job_id
    classes, counts = np.unique(cluster.tasks.cls[members], return_counts=True)
    highest = int(cluster.tasks.priority[members].max(initial=0))
    return describe_needs(job), highest, classes.tobytes(), counts.tobytes()


def _waiting(cluster: Cluster, job_id: str) -> Int64:
    members = np.array(cluster.jobs.members(job_id), dtype=np.int64)
    return members[cluster.tasks.state[members] == TaskPhase.PENDING]


def _count_anew(cluster: Cluster, job_id: str) -> None:
    for task in _waiting(cluster, job_id).tolist():
        count_anew(cluster, task)
