"""Stores reports of measured use, and says when machines must be checked again because of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.core.events import MachineSampled, MachineSampleRemoved, TaskSampled
from firmament.core.state.machines import MachineTable
from firmament.core.state.tasks import TaskTable
from firmament.core.usage.samples import TaskSamples

MARK_EVERY = 1.0
"""Seconds between checks of whether reports of use make unschedulable tasks fit on machines."""

_NONE = np.empty(0, dtype=np.int64)


@dataclass
class ReportsOfUse:
    """Passes reports of use on to the tables of samples."""

    machines: MachineTable
    """The table of machines."""
    tasks: TaskTable
    """The table of tasks."""
    task_samples: TaskSamples
    """Samples of tasks."""
    of_tasks: bool
    """Whether figures of single tasks are kept."""
    history: bool
    """Whether past reports are kept, for sources that report no statistics."""
    looked_at: int = 0
    """Change number of the samples when ``due`` last returned rows."""
    _marked: float = -math.inf
    """The time when ``due`` last returned rows."""

    def apply(self, event: MachineSampled | MachineSampleRemoved | TaskSampled) -> None:
        """Store one report; a report about an unknown machine or task is ignored."""
        match event:
            case MachineSampled():
                self._machine(event)
            case MachineSampleRemoved(name):
                at = self.machines.row_of.get(name)
                if at is not None:
                    self.machines.samples.withdraw(at)
                    self.machines.changes.touch(at)
            case TaskSampled():
                self._task(event)

    def due(self, now: float) -> tuple[float | None, Int64]:
        """Return the rows of machines to be checked now, each once; if it is too early, also the seconds until then."""
        samples = self.machines.samples
        if samples.last_change == self.looked_at:
            return None, _NONE
        wait = self._marked + MARK_EVERY - now
        if 0 < wait <= MARK_EVERY:  # If the clock was set back, nothing is delayed.
            return wait, _NONE
        rows = np.flatnonzero(samples.find_changed(self.looked_at, len(self.machines)))
        self.looked_at, self._marked = samples.last_change, now
        return None, rows

    def _machine(self, event: MachineSampled) -> None:
        machines = self.machines
        at = machines.row_of.get(event.machine)
        if at is None:
            return
        stamp = machines.samples.record(at, event, history=self.history)
        if not stamp:
            return
        machines.changes.touch(at)
        uses = event.tasks
        if uses is None or not self.of_tasks:
            return
        rows = np.array([self.tasks.row_of.get(uid, -1) for uid in uses.uids], dtype=np.int64)
        known = np.flatnonzero(rows >= 0)
        self.task_samples.record_all(rows[known], known, uses, stamp)

    def _task(self, event: TaskSampled) -> None:
        tasks = self.tasks
        task = tasks.row_of.get(event.uid)
        if task is None or not self.of_tasks:
            return
        machine = int(tasks.machine[task])
        if machine >= 0:
            stamp = int(self.machines.samples.stamp(machine + 1)[machine])
            self.task_samples.record(task, event.usage, stamp)
