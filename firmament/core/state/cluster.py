"""Holds the state of one cluster, which only events (see ``intake``) and the decisions of rounds change."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

import numpy as np

from cost_models.group_terms import GROUP_RECORD
from cost_models.interface import Int64, Needs
from cost_models.task_constraints import ConstrainingModel
from firmament.core.model import Machine
from firmament.core.record_kinds import (
    BUDGET_RECORD,
    DEVICE_CLAIM_RECORD,
    FLAVOR_RECORD,
    FOREIGN_NOMINATION_RECORD,
    NAMESPACE_RECORD,
    QUOTA_RECORD,
    RESTART_ROOM_RECORD,
)
from firmament.core.resources import ResourceIndex, ShapeRequests
from firmament.core.selectors.label_columns import Codes
from firmament.core.state.class_selectors import ClassSelector
from firmament.core.state.classes import ClassTable, Renumbered
from firmament.core.state.device_allocations import DeviceAllocations
from firmament.core.state.jobs import JobTable
from firmament.core.state.machines import DirtySet, MachineTable
from firmament.core.state.promised_room import ForeignNominations, PromisedRoom
from firmament.core.state.records import RecordTable
from firmament.core.state.restarts.restart_rooms import RestartRooms
from firmament.core.state.tasks import TaskPhase, TaskTable
from firmament.core.state.usage_reports import ReportsOfUse
from firmament.core.usage.samples import TaskSamples

NO_NEEDS = Needs()

_ROOM_RECORDS = (FOREIGN_NOMINATION_RECORD, RESTART_ROOM_RECORD)
_OWN_RECORDS = (NAMESPACE_RECORD, BUDGET_RECORD, QUOTA_RECORD, FLAVOR_RECORD, *_ROOM_RECORDS)
"""Kinds of records that the solver's core itself reads, whatever models read."""


class Cluster:
    """The machines, jobs, classes, tasks and records of one cluster.

    Invariant: ``machines.used`` is the sum of the requests of the bound and assumed tasks whose machine is known.
    ``machines.unstated`` is the sum of what these tasks are assumed to need beyond their requests. A task bound to an
    unknown machine is kept aside, and counts once the machine appears. A record of a kind that some model needs may
    make tasks fit on any machine. A record of a kind in ``needs.arrivals`` concerns only the machine with its name.
    Use over periods is kept only if some model needs the ``load``; the use of tasks, if some model needs ``load`` or
    ``unseen``. ``last_arrival_number``: arrival number of the last task or record, as in ``tasks.arrival_number``.
    """

    def __init__(
        self,
        needs: Needs = NO_NEEDS,
        *,
        constraining_models: tuple[ConstrainingModel, ...] = (),
        record_bytes: int = 2**20,
    ) -> None:
        """``needs``: what models need. ``constraining_models``: models with constraints between tasks.
        ``record_bytes``: maximum bytes of one record.
        """
        self.resources = ResourceIndex()
        self.machines = MachineTable(self.resources)
        self.classes = ClassTable(frozenset(needs.labels), model_namespaces=needs.namespaces)
        self.tasks = TaskTable()
        self.task_samples = TaskSamples(self.resources)
        self.reports = ReportsOfUse(
            self.machines,
            self.tasks,
            self.task_samples,
            of_tasks=needs.unseen or needs.load,
            history=needs.load,
        )
        self.jobs = JobTable()
        self.spread_groups = Codes("")  # The groups of tasks that prefer to run apart.
        self.records = RecordTable(record_bytes, frozenset((*needs.records, *_OWN_RECORDS)))
        self.devices = DeviceAllocations()
        #: By rule: what it caches about the cluster between rounds.
        self.rule_memory: dict[str, object] = {}
        self.dirty = DirtySet()
        self.promises = PromisedRoom(ForeignNominations(self.resources))
        self.restarts = RestartRooms(self.resources)
        self.version = 0
        self.constraining_models = constraining_models
        self.needs = needs
        self.last_arrival_number = 0
        self.undated: list[Int64] = []
        self._selector = ClassSelector(self.classes.rows)
        self._namespaces_changed = False
        self._orphans: dict[str, set[int]] = {}
        self.requests = ShapeRequests(self.resources, self.classes.shapes)

    # --- records and reports of use ------------------------------------------------------------------------------

    def keep_record(self, kind: str, name: str, payload: bytes) -> None:
        """Store a record, which replaces the former record of the same kind and name."""
        self.last_arrival_number += 1
        self.records.keep(kind, name, payload, self.last_arrival_number)
        self._record_changed(kind, name)

    def drop_record(self, kind: str, name: str) -> None:
        """Forget a record, if it is known."""
        self.records.drop(kind, name)
        self._record_changed(kind, name)

    def _record_changed(self, kind: str, name: str) -> None:
        if kind == NAMESPACE_RECORD:
            self._namespaces_changed = self.dirty.domains_changed = True
        if kind in _ROOM_RECORDS:
            payload = self.records.payloads.get(kind, {}).get(name)
            ours = kind == RESTART_ROOM_RECORD
            put = (
                partial(self.restarts.put, arrival_number=self.last_arrival_number)
                if ours
                else self.promises.others.put
            )
            for machine in put(name, payload):
                self.mark(machine)
        if kind in (QUOTA_RECORD, FLAVOR_RECORD):
            self.dirty.everywhere = True
        if kind == DEVICE_CLAIM_RECORD:
            self._claim_changed(name)
        elif kind in self.needs.arrivals:
            self.mark(name)
        else:
            self.dirty.everywhere |= kind in self.needs.records

    def _claim_changed(self, name: str) -> None:
        """Store a changed claim of devices; tasks may now fit where it held devices, or because it is known."""
        known = self.devices.known_claims.get(name)
        freed = self.devices.keep_claim(name, self.records.payloads.get(DEVICE_CLAIM_RECORD, {}).get(name))
        for machine in freed:
            if machine:
                self.mark(machine)
            else:
                self.dirty.everywhere = True
        now = self.devices.known_claims.get(name)
        if now is not None and (known is None or known.allocation != now.allocation):
            rows = self.classes.list_stating(("claims",))
            self.dirty.everywhere |= any(
                claim.claim == name for row in rows for claim in self.classes.rows[row].content.claims
            )

    def selector(self) -> ClassSelector:
        """Return an object that matches selectors against the classes, by the present namespaces."""
        if self._namespaces_changed:
            self._selector.set_namespaces(self.records.payloads.get(NAMESPACE_RECORD, {}))
            self._namespaces_changed = False
        return self._selector

    @property
    def ruled_gangs(self) -> frozenset[str]:
        """IDs of the gangs that rules distribute over a tree of machines; none if no model reads such rules."""
        if GROUP_RECORD not in self.needs.records:
            return frozenset()
        return frozenset(self.jobs.gangs) & self.records.payloads.get(GROUP_RECORD, {}).keys()

    def mark(self, machine: str) -> None:
        """Record that tasks may fit on a machine where they did not fit before; unknown machines are ignored."""
        row = self.machines.row_of.get(machine)
        if row is not None:
            self.dirty.machines.add(row)

    # --- classes and shapes --------------------------------------------------------------------------------------

    def forget_classes(self, used: Collection[int]) -> Renumbered:
        """Drop the classes that no number stands for and no task has; the rows ``used`` stay as well.

        The function returns the new rows of the remaining classes.
        """
        tasks = self.tasks
        known = tasks.state[: len(tasks.uid)] != TaskPhase.UNUSED
        of_tasks = np.unique(tasks.cls[: len(known)][known]).tolist()
        moved = self.classes.forget({*used, *self.dirty.touched, *of_tasks})
        tasks.cls[: len(known)] = np.where(known, moved.classes[tasks.cls[: len(known)]], 0)
        self.dirty.touched = {int(moved.classes[row]) for row in self.dirty.touched}
        self.requests.forget()
        self._selector.reset()
        return moved

    # --- tasks on machines ---------------------------------------------------------------------------------------

    def sum_requests(self, without: int = -1) -> Int64:
        """Return what tasks on machines request, without the task in row ``without``: int64[M, K]; read-only."""
        machine = int(self.tasks.machine[without]) if without >= 0 else -1
        if machine < 0:
            return self.machines.used
        return self.machines.compute_used_without(machine, self.request_of(int(self.tasks.cls[without])))

    def free(self, beside: Collection[int] = (), least: int | None = None, without: int = -1) -> Int64:
        """Return what machines have free: int64[M, K], negative where machines are overcommitted.

        Capacity that is promised to tasks, or kept for restarting gangs, counts as used. Exceptions: what is for the
        tasks ``beside`` (rows), and for lower priorities than ``least``. The task in row ``without`` uses nothing.
        """
        room = self.machines.capacity - self.sum_requests(without)
        promised = self._sum_promised(beside, least, least) if self.has_promises else None
        return room if promised is None else room - promised

    def free_beside(self, taking_part: Int64) -> Int64:
        """Return ``free`` for a round; promises to the tasks that take part in it (rows) do not count as used."""
        room = self.machines.capacity - self.sum_requests()
        promised = self.sum_promised_beside(taking_part)
        return room if promised is None else room - promised

    @property
    def has_promises(self) -> bool:
        """Whether capacity is promised to some task, or kept for a restarting gang."""
        return bool(self.promises.machine_of or self.promises.others.by_uid or self.restarts.by_uid)

    def sum_promised_beside(self, taking_part: Int64) -> Int64 | None:
        """Return what is promised to tasks, or kept for gangs, that do not take part in a round: int64[M, K].

        The result is None if nothing is promised or kept. ``taking_part``: rows of the tasks that do take part.
        """
        if not self.has_promises:
            return None
        highest = int(self.tasks.priority[taking_part].max()) if len(taking_part) else None
        return self._sum_promised(frozenset(taking_part.tolist()), None, highest)

    def _sum_promised(self, beside: Collection[int], least: int | None, others: int | None) -> Int64 | None:
        promised = self.promises.amounts(self, beside, least, others)
        kept = self.restarts.sum_beside(self.tasks, self.machines, beside, others)
        return kept if promised is None else promised if kept is None else promised + kept

    def request_of(self, cls: int) -> Int64:
        """Return the request of a class's tasks, including ``pods``: int64[<= K]."""
        return self.requests.get(self.classes.rows[cls].shape)[0]

    def number_arrivals(self, rows: Int64) -> None:
        """Record that the tasks in ``rows`` arrive on their machines now, in this order."""
        self.tasks.arrival_number[rows] = self.last_arrival_number + 1 + np.arange(len(rows))
        self.last_arrival_number += len(rows)

    def number_arrival(self, task: int) -> None:
        """Record that a task arrives on its machine now."""
        self.last_arrival_number += 1
        self.tasks.arrival_number[task] = self.last_arrival_number

    def vacate(self, task: int) -> None:
        """Take a task off its machine, if it is on one, and mark the machine as changed."""
        tasks = self.tasks
        machine = int(tasks.machine[task])
        tasks.leaving[task] = tasks.displacing[task] = False
        self.jobs.touch(tasks.job[task])
        if machine >= 0:
            self.book(machine, int(tasks.cls[task]), -1)
            self.dirty.touched.add(int(tasks.cls[task]))
            self.dirty.machines.add(machine)
            tasks.machine[task] = -1
        elif tasks.orphan_of[task]:
            self._orphans.get(tasks.orphan_of[task], set()).discard(task)
            tasks.orphan_of[task] = ""

    def book(self, machine: int, cls: int, count: int) -> None:
        """Book what tasks of a class use on a machine (row); a negative ``count`` releases it."""
        shape = self.classes.rows[cls].shape
        self.machines.book(machine, *self.requests.get(shape), count)

    def where(self, task: int) -> str:
        """Return the name of the machine that a task is on or was bound to; "" for none."""
        machine = int(self.tasks.machine[task])
        return self.machines.specs[machine].name if machine >= 0 else self.tasks.orphan_of[task]

    def put(self, task: int, machine: str) -> None:
        """Put a task that has no machine on one; as long as the machine is unknown, the task is kept aside."""
        row = self.machines.row_of.get(machine, -1)
        if row >= 0:
            self._occupy(task, row)
        else:
            self._keep_aside(task, machine)

    def put_all(self, tasks: Int64, machines: Sequence[str], sizes: Int64) -> None:
        """Put tasks (int64[N] rows) without machines on machines: the first ``sizes[0]`` on the first machine, etc."""
        row_of = self.machines.row_of
        rows = np.repeat(np.array([row_of.get(name, -1) for name in machines], dtype=np.int64), sizes)
        known = rows >= 0
        there = tasks[known]
        self.occupy_all(there, rows[known])
        self.dirty.touched.update(np.unique(self.tasks.cls[there]).tolist())
        if not known.all():
            owner = np.repeat(np.arange(len(machines)), sizes)
            for place in np.flatnonzero(~known).tolist():
                self._keep_aside(int(tasks[place]), machines[int(owner[place])])

    def occupy_all(self, tasks: Int64, machines: Int64) -> None:
        """Put tasks (int64[N] rows) without machines on machines (int64[N] rows), and book what they use."""
        self.tasks.machine[tasks] = machines
        self.machines.book_all(machines, *self.demand_of(self.tasks.cls[tasks]))

    def leave_all(self, tasks: Int64) -> Int64:
        """Take tasks (int64[N] rows) and their requests off their machines; return int64[N]: these machines.

        The machines are not marked as changed, because the caller only answers a question, and puts the tasks back.
        """
        machines = self.tasks.machine[tasks]
        self.machines.book_all(machines, *self.demand_of(self.tasks.cls[tasks]), count=-1)
        self.tasks.machine[tasks] = -1
        return machines

    def demand_of(self, classes: Int64) -> tuple[Int64, Int64]:
        """Return what tasks of ``classes`` (int64[N] rows) request, and what they may need more: int64[N, K]."""
        present, of_class = np.unique(classes, return_inverse=True)
        shapes = [self.classes.rows[cls].shape for cls in present.tolist()]
        requested, assumed = self.requests.rows(shapes)
        return requested[of_class], assumed[of_class]

    def _occupy(self, task: int, machine: int) -> None:
        self.dirty.touched.add(int(self.tasks.cls[task]))
        self.book(machine, int(self.tasks.cls[task]), 1)
        self.tasks.machine[task] = machine
        self.tasks.orphan_of[task] = ""

    def _keep_aside(self, task: int, machine: str) -> None:
        self.tasks.orphan_of[task] = machine
        self._orphans.setdefault(machine, set()).add(task)

    # --- adding and removing machines ----------------------------------------------------------------------------

    def upsert_machine(self, machine: Machine) -> None:
        """Add or replace a machine; tasks that were kept aside for it are on it from now on."""
        known = machine.name in self.machines.row_of
        before = self.machines.static_version
        columns = len(self.resources)
        row = self.machines.upsert(machine)
        if len(self.resources) > columns:
            self._count_new(columns)
        if known and self.machines.static_version != before:
            self.dirty.domains_changed = True
        self.dirty.machines.add(row)
        for orphan in sorted(self._orphans.pop(machine.name, ())):
            self._occupy(orphan, row)

    def forget_resources(self) -> None:
        """Drop the columns of resources that no machine offers any more."""
        kept = self.resources.compact()
        self.machines.keep_columns(kept)
        self.task_samples.keep_columns(kept)

    def _count_new(self, first: int) -> None:
        """Book what tasks on machines request of resources with new columns, those from ``first`` on."""
        new = set(self.resources.names[first:])
        concerned = [
            shape
            for shape, content in enumerate(self.classes.shapes)
            if not new.isdisjoint(name for name, _ in content.requests)
        ]
        if concerned:
            shape_of = np.array([row.shape for row in self.classes.rows], dtype=np.int64)
            tasks = np.flatnonzero(self.tasks.machine[: len(self.tasks.uid)] >= 0)
            tasks = tasks[np.isin(shape_of[self.tasks.cls[tasks]], concerned)]
            requests = self.requests.rows(shape_of[self.tasks.cls[tasks]].tolist())[0][:, first:]
            self.machines.book_new(self.tasks.machine[tasks], requests, first)

    def remove_machine(self, name: str) -> None:
        """Forget a machine, if it is known; its tasks are kept aside."""
        row = self.machines.row_of.get(name)
        if row is None:
            return
        tasks = self.tasks
        for task in np.flatnonzero(tasks.machine == row).tolist():
            tasks.machine[task] = -1
            self._keep_aside(task, name)
        self.dirty.domains_changed = True  # A domain (value of a label) may have lost its last machine.
        moved = self.machines.remove(row)
        if moved >= 0:
            tasks.machine[tasks.machine == moved] = row
        self.dirty.machines.discard(row)
        if moved in self.dirty.machines:
            self.dirty.machines.remove(moved)
            self.dirty.machines.add(row)
