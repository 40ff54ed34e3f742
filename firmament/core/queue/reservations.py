"""Reserves machines for tasks that other tasks keep overtaking, as EASY backfill does.

If small tasks arrive without end, a large task never fits: whatever becomes free on a machine, a small task takes it.
When a number of rounds have passed over the large task, the machine that lacks least for it is reserved. The reserved
machine is closed to all other tasks of the same or lower priority, so that it drains. A machine is reserved only if
it will be large enough once the tasks expected to end there have ended, and only as long as that holds. The waiting
time is bounded: when every task that ran on the reserved machine at the time of the reservation has ended, the task
is placed, unless the reservation has lapsed before. A reservation lapses after ``reserve_for`` seconds, or after
``reserve_for_rounds`` rounds that placed something. When a reservation has lapsed, the count of rounds that passed
over the task begins anew. In the count of rounds that passed over a task, several rounds in quick succession count as
one. For gangs, machines are reserved for the whole gang (``gang_reservations``). No machine is reserved for tasks
that lack quota.

Backfill: if it is known by when the task will fit (``stated_ends``), tasks that will have ended by then may use the
reserved machine meanwhile (``list_closed_rows``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.configuration import RoundOptions
from firmament.core.filters.static_rows import StaticRows
from firmament.core.queue.gang_reservations import GangReservations
from firmament.core.queue.lacking_quota import find_lacking_quota
from firmament.core.queue.lasting_use import lasting_use
from firmament.core.queue.namespace_turns import Turns, namespaces_of
from firmament.core.queue.stated_ends import find_start
from firmament.core.rules.gangs.members import count_missing_members
from firmament.core.rules.node_name import list_pinned_rows
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import UNGROUPED, TaskPhase
from firmament.core.state.waiting import count_anew, pass_over

MACHINES_PER_RESERVATION = 200
"""At most one machine in this many is reserved at a time, but always at least one may be.

A machine that drains for one task is closed to all others.
"""


@dataclass(slots=True)
class Reservation:
    """One machine that is reserved for one task."""

    uid: str
    """UID of the task."""
    machine: str
    """The reserved machine's name."""
    cls: int
    """The task's class (row)."""
    priority: int
    """The task's priority."""
    rounds: int
    """After how many more rounds that place something the reservation lapses."""
    until: float
    """The time at which the reservation lapses, in seconds since the epoch."""
    starts: float = -math.inf
    """The time at which the task will fit on the machine, at the latest."""


class Reservations:
    """The reservations of a cluster: ``held`` are those for single tasks, ``gangs`` those for whole gangs."""

    def __init__(self, options: RoundOptions) -> None:
        self._options = options
        self._turns = Turns()
        self._counted_at = float("-inf")
        self._now = math.inf
        self.held: list[Reservation] = []
        self.gangs = GangReservations(options, self._turns)

    def list_closed_rows(
        self, cluster: Cluster, cls: int, priority: int, job: str, returning: str = ""
    ) -> set[int]:
        """Return the rows of the machines that are closed to a class ``cls`` with ``priority`` in the gang ``job``.

        A machine is open to tasks that will have ended by the time at which the task with the reservation will fit
        there. A machine is also open to the job ``returning`` if the reservation could not use the capacity that is
        kept there for this job.
        """
        room = cluster.restarts.find_priorities(cluster.machines, returning) if returning else {}
        row_of = cluster.machines.row_of
        run = cluster.classes.rows[cls].content.run_seconds
        ends = self._now + run if run else math.inf
        closed = {
            row_of[held.machine]
            for held in self.held
            if held.machine in row_of
            and (held.cls != cls or job)
            and priority <= held.priority
            and ends > held.starts
            and room.get(held.machine, UNGROUPED) < held.priority
        }
        if self.gangs.held:
            kept = self.gangs.iter_closed(priority, job, ends, room)
            closed |= {row_of[name] for name in kept if name in row_of}
        return closed

    def renumber(self, new_row: Int64) -> None:
        """Move classes to new rows: ``new_row[old]``, int64[C], -1 for removed classes."""
        for held in self.held:
            held.cls = int(new_row[held.cls]) if held.cls >= 0 else -1
        self.gangs.renumber(new_row)

    def next_in(self, now: float) -> float | None:
        """Return the seconds until the next reservation lapses; None if nothing is reserved."""
        ends = [held.until for held in self.held] + [held.until for held in self.gangs.held.values()]
        return max(0.0, min(ends) - now) if ends else None

    def refresh(self, cluster: Cluster, static_rows: StaticRows, now: float) -> None:
        """Drop reservations that are no longer needed, and make new ones for tasks that rounds passed over too often.

        If no machine is suitable for a task, or the task lacks quota, the count of rounds that passed over it begins
        anew.
        """
        self._renew(cluster, static_rows, now)
        self._now = now
        for held in self.held:
            row, request = cluster.machines.row_of[held.machine], cluster.request_of(held.cls)
            held.starts = find_start(cluster, {row: request}, now)
        self.gangs.expect(cluster, now)

    def _renew(self, cluster: Cluster, static_rows: StaticRows, now: float) -> None:
        self._drop_ended(cluster, static_rows, now)
        tasks = cluster.tasks
        pending = tasks.in_state(TaskPhase.PENDING)
        starved = pending[tasks.passed_over[pending] >= self._options.reserve_after_rounds]
        starved = starved[~np.isin(starved, [*_list_lacking_quota(cluster, starved.tolist())])]
        in_gang = _lacking_gangs(cluster, starved)
        self.gangs.refresh(cluster, static_rows, starved[in_gang], now)
        starved = starved[~in_gang]
        limit = max(1, len(cluster.machines) // MACHINES_PER_RESERVATION)
        if not len(starved) or len(self.held) >= limit:
            return
        held_uids = {held.uid for held in self.held}
        hopeless: set[int] = set()
        lasting: Int64 | None = None
        for task in self._turns.order(cluster, starved):
            if len(self.held) >= limit:
                return
            cls = int(tasks.cls[task])
            if tasks.uid[task] in held_uids:
                continue
            lasting = lasting_use(cluster) if lasting is None else lasting
            if cls in hopeless or not self._reserve(cluster, static_rows, task, lasting, now):
                hopeless.add(cls)
                count_anew(cluster, task)

    def count_round(self, cluster: Cluster, now: float) -> None:
        """Count a round that placed something, and that so passed over the unschedulable tasks.

        Rounds in quick succession count as one, so that a burst of rounds does not look like a stream of other tasks.
        The count begins anew after a pause as long as a reservation may last.
        """
        tasks, options = cluster.tasks, self._options
        pending = tasks.in_state(TaskPhase.PENDING)
        passed = pending[tasks.unschedulable[pending] & ~tasks.refused[pending]]
        since = np.where(tasks.passed_over[passed] > 0, now - tasks.passed_at[passed], np.inf)
        counted = since >= options.reserve_after / options.reserve_after_rounds
        passed, since = passed[counted], since[counted]
        pass_over(cluster, passed, anew=since > options.reserve_for, now=now)
        if now - self._counted_at >= options.reserve_after / options.reserve_after_rounds:
            self._counted_at = now
            self.gangs.count_round()
            for held in self.held:
                held.rounds -= 1

    def _drop_ended(self, cluster: Cluster, static_rows: StaticRows, now: float) -> None:
        if not self.held:
            return
        rows = [cluster.machines.row_of.get(held.machine, -1) for held in self.held]
        lasting = lasting_use(cluster, np.array([row for row in rows if row >= 0], dtype=np.int64))
        row_of = cluster.tasks.row_of
        lacking = _list_lacking_quota(cluster, [row_of[held.uid] for held in self.held if held.uid in row_of])
        for held in list(self.held):
            if row_of.get(held.uid) in lacking or not self._still_needed(
                cluster, static_rows, held, lasting, now
            ):
                self.held.remove(held)
                cluster.mark(held.machine)

    def _still_needed(
        self, cluster: Cluster, static_rows: StaticRows, held: Reservation, lasting: Int64, now: float
    ) -> bool:
        task = cluster.tasks.row_of.get(held.uid)
        row = cluster.machines.row_of.get(held.machine)
        if task is None or row is None or cluster.tasks.state[task] != TaskPhase.PENDING:
            return False
        cls = int(cluster.tasks.cls[task])
        request = cluster.request_of(cls)
        capacity = cluster.machines.capacity[row, : len(request)]
        hope = (capacity - lasting[row, : len(request)] >= request)[request > 0].all()
        if held.rounds <= 0 or now >= held.until or not hope:
            count_anew(cluster, task)
            return False
        return held.cls == cls and bool(static_rows.get(cluster.classes.rows[cls].shape).feasible[row])

    def _reserve(
        self, cluster: Cluster, static_rows: StaticRows, task: int, lasting: Int64, now: float
    ) -> bool:
        """Reserve for a task the suitable machine that lacks the least share of its capacity.

        Return whether some machine is suitable.

        ``lasting``: int64[M, K], what tasks that are not expected to end use.
        """
        cls = int(cluster.tasks.cls[task])
        row = cluster.classes.rows[cls]
        request = cluster.request_of(cls)
        machines = cluster.machines
        capacity, wanted = machines.capacity[:, : len(request)], request > 0
        in_the_end = (capacity - lasting[:, : len(request)])[:, wanted]
        missing = np.maximum(request - (capacity - machines.used[:, : len(request)]), 0)[:, wanted]
        usable = static_rows.get(row.shape).feasible & (in_the_end >= request[wanted]).all(axis=1)
        # If nothing is missing on a machine, the task lacks something other than free capacity there.
        usable &= missing.any(axis=1)
        pinned = list_pinned_rows(cluster, cls)
        if pinned is not None:
            usable &= np.isin(np.arange(len(machines)), pinned)
        usable[self.gangs.list_rows(cluster)] = False
        for held in self.held:
            if held.machine in machines.row_of:
                usable[machines.row_of[held.machine]] = False
        if not usable.any():
            return False
        self._turns.serve(namespaces_of(cluster, np.array([task]))[0])
        share = missing / np.maximum(capacity[:, wanted], 1)
        lack = np.where(usable, share.max(axis=1, initial=0.0), np.inf)
        self.held.append(
            Reservation(
                uid=cluster.tasks.uid[task],
                machine=machines.specs[int(np.argmin(lack))].name,
                cls=cls,
                priority=int(cluster.tasks.priority[task]),
                rounds=self._options.reserve_for_rounds,
                until=now + self._options.reserve_for,
            )
        )
        return True


def _list_lacking_quota(cluster: Cluster, tasks: Sequence[int]) -> frozenset[int]:
    """Return which tasks (rows) lack quota now, and reset the count of rounds that passed over them."""
    rows = np.array(tasks, dtype=np.int64)
    pending = rows[cluster.tasks.state[rows] == TaskPhase.PENDING]
    lacking = pending[find_lacking_quota(cluster, pending)].tolist()
    for task in lacking:
        count_anew(cluster, task)
    return frozenset(lacking)


def _lacking_gangs(cluster: Cluster, rows: Int64) -> Bool:
    """Return which of the tasks (int64[N] rows) are in gangs that lack members on machines: bool[N]."""
    if not cluster.jobs.gangs or not len(rows):
        return np.zeros(len(rows), dtype=np.bool_)
    jobs = [cluster.tasks.job[row] for row in rows.tolist()]
    gangs = {name: cluster.jobs.gang(name) for name in set(jobs)}
    lacks = {name: job is not None and count_missing_members(cluster, job) > 0 for name, job in gangs.items()}
    return np.array([lacks[name] for name in jobs], dtype=np.bool_)
