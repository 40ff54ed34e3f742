"""Places kept for tasks that others keep overtaking.

A large task amid an endless stream of small ones never finds room: whatever a machine gains, a small task takes. After
it has been passed over in a number of rounds, the machine that lacks least for it is closed to all tasks of the same
or lower priority, so that it drains. The stated bound: such a task is placed at the latest once every task that ran on
that machine when it was reserved has ended. A reservation that has not led to a placement after
``reserve_for_rounds`` rounds lapses, and the task starts to count anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.core.cluster import Cluster
from firmament.core.configuration import RoundOptions
from firmament.core.feasibility import StaticRows
from firmament.core.pinning import pinned_rows
from firmament.core.tasks import State

MACHINES_PER_RESERVATION = 200
"""At most one machine in so many is reserved at a time (at least one): what drains for one task is lost to others."""


@dataclass(slots=True)
class Reservation:
    """One reserved machine (by name) for one task (by uid); ``rounds`` it may still last."""

    uid: str
    machine: str
    cls: int
    priority: int
    rounds: int


class Reservations:
    """The reservations of a cluster."""

    def __init__(self, options: RoundOptions) -> None:
        self._options = options
        self._held: list[Reservation] = []

    def __len__(self) -> int:
        return len(self._held)

    def closed_rows(self, cluster: Cluster, cls: int, priority: int) -> set[int]:
        """Rows of machines that are reserved against tasks of ``cls`` with ``priority``."""
        return {
            cluster.machines.row_of[held.machine]
            for held in self._held
            if held.machine in cluster.machines.row_of and (held.cls != cls) and priority <= held.priority
        }

    def renumber(self, new_row: Int64) -> None:
        """Classes have other rows now: ``new_row[old]``, int64[C], -1 for those that are gone."""
        for held in self._held:
            held.cls = int(new_row[held.cls]) if held.cls >= 0 else -1

    def refresh(self, cluster: Cluster, static_rows: StaticRows) -> None:
        """Drop what has served its purpose, then reserve for tasks that have been passed over too often."""
        for held in [held for held in self._held if not self._still_needed(cluster, static_rows, held)]:
            self._held.remove(held)
            cluster.mark(held.machine)
        tasks = cluster.tasks
        pending = tasks.in_state(State.PENDING)
        starved = pending[tasks.passed_over[pending] >= self._options.reserve_after_rounds]
        held_uids = {held.uid for held in self._held}
        limit = max(1, len(cluster.machines) // MACHINES_PER_RESERVATION)
        order = starved[
            np.lexsort((tasks.sequence[starved], tasks.created[starved], -tasks.priority[starved]))
        ]
        hopeless: set[int] = set()
        for task in order.tolist():
            if len(self._held) >= limit:
                return
            cls = int(tasks.cls[task])
            if tasks.uid[task] in held_uids or cls in hopeless:
                continue
            if not self._reserve(cluster, static_rows, task):
                hopeless.add(cls)

    def count_round(self, cluster: Cluster, overtaken: bool) -> None:
        """Count a round that placed something (``overtaken``): parked tasks were passed over once more."""
        if not overtaken:
            return
        tasks = cluster.tasks
        pending = tasks.in_state(State.PENDING)
        tasks.passed_over[pending[tasks.parked[pending] & ~tasks.refused[pending]]] += 1
        for held in self._held:
            held.rounds -= 1

    def _still_needed(self, cluster: Cluster, static_rows: StaticRows, held: Reservation) -> bool:
        task = cluster.tasks.row_of.get(held.uid)
        row = cluster.machines.row_of.get(held.machine)
        if task is None or row is None or cluster.tasks.state[task] != State.PENDING:
            return False
        if held.rounds <= 0:
            cluster.tasks.passed_over[task] = 0
            return False
        cls = int(cluster.tasks.cls[task])
        return held.cls == cls and bool(static_rows.of(cluster.classes.rows[cls].shape).feasible[row])

    def _reserve(self, cluster: Cluster, static_rows: StaticRows, task: int) -> bool:
        """Reserve the machine that lacks the least share of its capacity, among those large enough, if any."""
        cls = int(cluster.tasks.cls[task])
        row = cluster.classes.rows[cls]
        request = cluster.request_of(cls)
        machines = cluster.machines
        capacity = machines.capacity[:, : len(request)]
        usable = static_rows.of(row.shape).feasible & (capacity >= request).all(axis=1)
        pinned = pinned_rows(cluster, cls)
        if pinned is not None:
            usable &= np.isin(np.arange(len(machines)), pinned)
        for held in self._held:
            if held.machine in machines.row_of:
                usable[machines.row_of[held.machine]] = False
        if not usable.any():
            return False
        missing = np.maximum(request - (capacity - machines.used[:, : len(request)]), 0) / np.maximum(
            capacity, 1
        )
        lack = np.where(usable, missing.max(axis=1, initial=0.0), np.inf)
        self._held.append(
            Reservation(
                uid=cluster.tasks.uid[task],
                machine=machines.specs[int(np.argmin(lack))].name,
                cls=cls,
                priority=int(cluster.tasks.priority[task]),
                rounds=self._options.reserve_for_rounds,
            )
        )
        return True
