"""Takes in reports of what machines and tasks really use, and says when to look at machines again because of them."""

from __future__ import annotations

import math

import numpy as np

from firmament.core.events import MachineSampled, MachineSampleRemoved, TaskSampled
from firmament.core.machines import MachineTable
from firmament.core.samples import TaskSamples
from firmament.core.tasks import TaskTable

MARK_EVERY = 1.0
"""Seconds between looks at whether reports of use opened machines to parked tasks."""


class ReportsOfUse:
    """Reports on their way to the tables of samples. ``of_tasks``: figures of tasks are kept; ``history``: so are past
    reports, where their source aggregates nothing.
    """

    def __init__(self, task_samples: TaskSamples, *, of_tasks: bool, history: bool) -> None:
        self._task_samples = task_samples
        self._of_tasks = of_tasks
        self._history = history
        self._reported: set[str] = set()
        self._marked = -math.inf

    def take(
        self,
        event: MachineSampled | MachineSampleRemoved | TaskSampled,
        machines: MachineTable,
        tasks: TaskTable,
    ) -> None:
        """Take in one report; one about an unknown machine or task is ignored."""
        match event:
            case MachineSampled():
                self._machine(event, machines, tasks)
            case MachineSampleRemoved(name):
                at = machines.row_of.get(name)
                if at is not None:
                    machines.samples.reset(at)
                    machines.changes.touch(at)
                    self._reported.add(name)
            case TaskSampled():
                self._task(event, machines, tasks)

    def due(self, now: float) -> tuple[float | None, frozenset[str]]:
        """Machines to be looked at again now, each once; if it is too early, the seconds until there will be some."""
        if not self._reported:
            return None, frozenset()
        wait = self._marked + MARK_EVERY - now
        if 0 < wait <= MARK_EVERY:  # a clock that was set back delays nothing
            return wait, frozenset()
        names, self._reported = frozenset(self._reported), set()
        self._marked = now
        return None, names

    def _machine(self, event: MachineSampled, machines: MachineTable, tasks: TaskTable) -> None:
        at = machines.row_of.get(event.machine)
        if at is None:
            return
        stamp = machines.samples.record(at, event, history=self._history)
        if not stamp:
            return
        machines.changes.touch(at)
        self._reported.add(event.machine)
        uses = event.tasks
        if uses is None or not self._of_tasks:
            return
        rows = np.array([tasks.row_of.get(uid, -1) for uid in uses.uids], dtype=np.int64)
        known = np.flatnonzero(rows >= 0)
        self._task_samples.record_all(rows[known], known, uses, stamp)

    def _task(self, event: TaskSampled, machines: MachineTable, tasks: TaskTable) -> None:
        task = tasks.row_of.get(event.uid)
        if task is None or not self._of_tasks:
            return
        machine = int(tasks.machine[task])
        if machine >= 0:
            stamp = int(machines.samples.stamp(machine + 1)[machine])
            self._task_samples.record(task, event.usage, stamp)
