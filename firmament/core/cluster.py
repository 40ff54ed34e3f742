"""The state of one cluster, changed by events and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.classes import ClassTable
from firmament.core.machines import MachineTable
from firmament.core.model import (
    ClassDefined,
    Event,
    Job,
    JobDefined,
    JobRemoved,
    MachineRemoved,
    MachineSampled,
    MachineUpserted,
    RecordRemoved,
    RecordUpserted,
    TaskRemoved,
    TaskSampled,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.resources import ResourceIndex
from firmament.core.tasks import State, TaskTable
from firmament.core.validation import validate


class Cluster:
    """Machines, jobs, classes, tasks and records.

    Invariant: ``machines.used`` is the sum of the requests of the bound and assumed tasks whose machine is known. A
    task bound to a machine that is not known (yet, or any more) is kept aside and counts once the machine appears.
    ``dirty`` holds the names of machines on which something may fit that did not before; ``everything_dirty`` says so
    of all of them, which is what a record of one of ``record_kinds``, the kinds that some model reads, may bring about.
    """

    def __init__(self, record_kinds: frozenset[str] = frozenset()) -> None:
        self.resources = ResourceIndex()
        self.machines = MachineTable(self.resources)
        self.classes = ClassTable()
        self.tasks = TaskTable()
        self.jobs: dict[str, Job] = {}
        self.records: dict[str, dict[str, bytes]] = {}
        self.dirty: set[str] = set()
        self.everything_dirty = False
        self.version = 0
        self._record_kinds = record_kinds
        self._orphans: dict[str, set[int]] = {}
        self._shape_request: dict[int, Int64] = {}

    # --- events --------------------------------------------------------------------------------------------------

    def apply(self, events: Sequence[Event], now: float) -> None:
        """Apply events in order, all or none; raises ``InvalidEventError`` before anything has changed."""
        validate(events, self.classes)
        for event in events:
            self._apply(event, now)
        self.version += 1

    def _apply(self, event: Event, now: float) -> None:  # noqa: C901, PLR0912 - one case per kind of event
        match event:
            case MachineUpserted(machine):
                row = self.machines.upsert(machine)
                self.dirty.add(machine.name)
                for orphan in sorted(self._orphans.pop(machine.name, ())):
                    self._occupy(orphan, row)
            case MachineRemoved(name):
                self._remove_machine(name)
            case JobDefined(job):
                self.jobs[job.id] = job
            case JobRemoved(id=job_id):
                self.jobs.pop(job_id, None)
            case ClassDefined(number, content):
                self.classes.define(number, content)
                self.resources.vector(content.requests)  # its resources have columns before any round looks
            case TasksSubmitted():
                self._submit(event, now)
            case TasksBound():
                self._bound(event, now)
            case TaskRemoved(uid):
                task = self.tasks.row_of.get(uid)
                if task is not None:
                    self.vacate(task)
                    self.tasks.remove(task)
            case MachineSampled(machine=name, time=time, usage=usage):
                at = self.machines.row_of.get(name)
                if at is not None and self.machines.sample(at, time, usage):
                    self.dirty.add(name)
            case TaskSampled():
                pass  # no model of this version looks at single tasks
            case RecordUpserted(kind, name, payload):
                self.records.setdefault(kind, {})[name] = payload
                self.everything_dirty |= kind in self._record_kinds
            case RecordRemoved(kind, name):
                self.records.get(kind, {}).pop(name, None)
                self.everything_dirty |= kind in self._record_kinds

    # --- marks ---------------------------------------------------------------------------------------------------

    def mark(self, machine: str) -> None:
        """Note that something may fit on a machine, if it is known, that did not before."""
        if machine in self.machines.row_of:
            self.dirty.add(machine)

    def clear_marks(self) -> None:
        """Forget which machines may take more than before: all waiting tasks have been held against them."""
        self.dirty.clear()
        self.everything_dirty = False

    # --- tasks ---------------------------------------------------------------------------------------------------

    def request_of(self, cls: int) -> Int64:
        """Request of a class's tasks, int64[<= K], ``pods`` included."""
        return self.shape_request(self.classes.rows[cls].shape)

    def shape_request(self, shape: int) -> Int64:
        """Request of a shape's tasks, int64[<= K], ``pods`` included."""
        vector = self._shape_request.get(shape)
        if vector is None:
            vector = self._shape_request[shape] = self.resources.vector(self.classes.shapes[shape].requests)
        return vector

    def assume_all(self, rows: Int64, machines: Int64) -> None:
        """Put pending tasks (int64[N] rows) on machines (int64[N] rows) until their bindings are reported."""
        tasks = self.tasks
        tasks.state[rows] = State.ASSUMED
        tasks.parked[rows] = False
        tasks.passed_over[rows] = 0
        tasks.machine[rows] = machines
        for task in rows.tolist():
            tasks.message[task] = ""
        classes, of_class = np.unique(tasks.cls[rows], return_inverse=True)
        shapes = [self.classes.rows[cls].shape for cls in classes.tolist()]
        self.machines.book_all(machines, self.request_rows(shapes)[of_class])

    def request_rows(self, shapes: Sequence[int]) -> Int64:
        """Requests of several shapes' tasks, ``pods`` included: int64[len(shapes), K]."""
        requests = np.zeros((len(shapes), len(self.resources)), dtype=np.int64)
        for index, shape in enumerate(shapes):
            vector = self.shape_request(shape)
            requests[index, : len(vector)] = vector
        return requests

    def vacate(self, task: int) -> None:
        """Take a task off its machine, if it is on one, and mark the machine as worth another look."""
        tasks = self.tasks
        machine = int(tasks.machine[task])
        if machine >= 0:
            self.machines.book(machine, self.request_of(int(tasks.cls[task])), -1)
            self.dirty.add(self.machines.specs[machine].name)
            tasks.machine[task] = -1
        elif tasks.orphan_of[task]:
            self._orphans.get(tasks.orphan_of[task], set()).discard(task)
            tasks.orphan_of[task] = ""

    def where(self, task: int) -> str:
        """Name of the machine that a task is on, or was bound to; empty if none."""
        machine = int(self.tasks.machine[task])
        return self.machines.specs[machine].name if machine >= 0 else self.tasks.orphan_of[task]

    def _occupy(self, task: int, machine: int) -> None:
        self.machines.book(machine, self.request_of(int(self.tasks.cls[task])), 1)
        self.tasks.machine[task] = machine
        self.tasks.orphan_of[task] = ""

    def _submit(self, event: TasksSubmitted, now: float) -> None:
        tasks = self.tasks
        cls = self.classes.row(event.task_class)
        for index, uid in enumerate(event.uids):
            name = event.names[index] if event.names else uid
            task = tasks.row_of.get(uid)
            if task is None:
                created = event.created[index] if event.created else 0.0
                tasks.add(
                    uid, name=name, job=event.job, cls=cls, priority=event.priority, created=created, now=now
                )
            elif tasks.state[task] == State.PENDING:
                changed = (
                    tasks.cls[task] != cls or tasks.priority[task] != event.priority or tasks.refused[task]
                )
                tasks.cls[task], tasks.priority[task] = cls, event.priority
                tasks.name[task], tasks.job[task] = name, event.job
                if changed:
                    tasks.parked[task] = tasks.refused[task] = False
                    tasks.revised[task] = True

    def _bound(self, event: TasksBound, now: float) -> None:
        tasks = self.tasks
        cls = self.classes.row(event.task_class)
        machine = self.machines.row_of.get(event.machine, -1)
        for index, uid in enumerate(event.uids):
            name = event.names[index] if event.names else uid
            task = tasks.row_of.get(uid)
            if task is None:
                task = tasks.add(
                    uid, name=name, job=event.job, cls=cls, priority=event.priority, created=0.0, now=now
                )
            elif self.where(task) == event.machine and tasks.cls[task] == cls:
                tasks.state[task], tasks.priority[task] = State.BOUND, event.priority
                tasks.name[task], tasks.job[task] = name, event.job
                continue
            else:
                self.vacate(task)
            tasks.cls[task], tasks.priority[task] = cls, event.priority
            tasks.state[task] = State.BOUND
            tasks.parked[task] = tasks.refused[task] = False
            tasks.message[task] = ""
            if machine >= 0:
                self._occupy(task, machine)
            else:
                tasks.orphan_of[task] = event.machine
                self._orphans.setdefault(event.machine, set()).add(task)

    # --- machines ------------------------------------------------------------------------------------------------

    def _remove_machine(self, name: str) -> None:
        row = self.machines.row_of.get(name)
        if row is None:
            return
        tasks = self.tasks
        for task in np.flatnonzero(tasks.machine == row).tolist():
            tasks.machine[task] = -1
            tasks.orphan_of[task] = name
            self._orphans.setdefault(name, set()).add(task)
        moved = self.machines.remove(row)
        if moved >= 0:
            tasks.machine[tasks.machine == moved] = row
        self.dirty.discard(name)
