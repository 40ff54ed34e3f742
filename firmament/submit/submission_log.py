"""Keeps the client's own records: submitted, placed and finished tasks, and overcommitted machines.

The log's records follow from the workload and the deltas alone, and so check the solver independently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from firmament.submit.workload import Float64, GeneratedWorkload, Int64


class SubmissionLog:
    """The events of one run. Times are seconds on one clock of the caller.

    ``used``: int64[M, 3], sum of the requests of the tasks on each machine. ``overcommitted``: bool[M], whether the
    requests of a machine's tasks were ever more than the machine offers. ``hosts``: bool[M], whether the machine got
    at least one task. ``ended``: bool[T], whether the task has ended.
    """

    def __init__(self, workload: GeneratedWorkload) -> None:
        self._workload = workload
        self.used = np.zeros_like(workload.allocatable)
        filled = workload.fill_level >= 0
        self.used[filled] = workload.fill_requests[workload.fill_level[filled]]
        self.overcommitted = np.zeros(workload.machines, dtype=np.bool_)
        self.hosts = np.zeros(workload.machines, dtype=np.bool_)
        self._machine_of = np.full(workload.tasks, -1, dtype=np.int64)
        self._submitted_at = np.full(workload.tasks, np.nan)
        self._placed_at = np.full(workload.tasks, np.nan)
        self.ended = np.zeros(workload.tasks, dtype=np.bool_)
        self._unscheduled: set[int] = set()
        self._messages: dict[int, str] = {}
        self.duplicates = 0
        self.rounds = 0

    def note_submitted(self, first: int, last: int, now: float) -> None:
        """Record the submission of tasks ``first`` to ``last`` (exclusive)."""
        self._submitted_at[first:last] = now

    def note_placed(self, tasks: Int64, machines: Int64, now: float) -> None:
        """Record placements (parallel arrays); repeated placements of a task only count as duplicates."""
        _, first = np.unique(tasks, return_index=True)
        new = np.zeros(len(tasks), dtype=np.bool_)
        new[first] = True
        new &= self._machine_of[tasks] < 0
        self.duplicates += int((~new).sum())
        tasks, machines = tasks[new], machines[new]
        self._machine_of[tasks] = machines
        self._placed_at[tasks] = now
        self._unscheduled.difference_update(tasks.tolist())
        self.hosts[machines] = True
        np.add.at(self.used, machines, self._workload.requests[self._workload.task_class[tasks]])
        self.overcommitted |= (self.used > self._workload.allocatable).any(axis=1)

    def note_finished(self, tasks: Int64) -> None:
        """Record the end of placed tasks."""
        self.ended[tasks] = True
        requests = self._workload.requests[self._workload.task_class[tasks]]
        np.subtract.at(self.used, self._machine_of[tasks], requests)

    def note_unscheduled(self, tasks: Iterable[int], message: str) -> None:
        """Record why tasks stay pending."""
        for task in tasks:
            if self._machine_of[task] < 0:
                self._unscheduled.add(task)
                self._messages[task] = message

    @property
    def placed_count(self) -> int:
        """Number of tasks placed so far."""
        return int((self._machine_of >= 0).sum())

    @property
    def submitted_count(self) -> int:
        """Number of tasks submitted so far."""
        return int((~np.isnan(self._submitted_at)).sum())

    @property
    def unscheduled_count(self) -> int:
        """Number of tasks that fit nowhere, by the solver's last answer."""
        return len(self._unscheduled)

    def reasons(self) -> dict[str, int]:
        """Return the number of pending tasks by the solver's message."""
        return dict(Counter(self._messages[task] for task in self._unscheduled))

    def latencies(self) -> Float64:
        """Return the seconds from submission to delta for each placed task: float64."""
        seconds: Float64 = self._placed_at - self._submitted_at
        return seconds[~np.isnan(seconds)]

    def placing_seconds(self) -> float:
        """Return the seconds from the first submission to the last delta."""
        if not self.placed_count:
            return 0.0
        return float(np.nanmax(self._placed_at) - np.nanmin(self._submitted_at))
