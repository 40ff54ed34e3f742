"""The tasks of a simulation as columns: the state and machine of each, and when it began."""

from __future__ import annotations

from enum import IntEnum
from heapq import heapify, heappop, heappush

import numpy as np

from poseidon.simulate.workloads.columns import ALONE, Float64, Int64, Work

NOWHERE = -1
NEVER = -1.0


class TaskProgress(IntEnum):
    """The states of a simulated task."""

    TO_COME = 0
    WAITING = 1
    RUNNING = 2
    ENDED = 3


class TaskColumns:
    """N tasks: first the tasks of the cluster's files, then the tasks that arrive.

    ``state`` is int8[N], ``machine`` int64[N] (``NOWHERE`` for none). ``begun`` and ``first_begun`` are float64[N]:
    when the task was placed last and first, in seconds since the beginning, or ``NEVER``. ``left`` is float64[N]: the
    remaining seconds of work.
    """

    def __init__(self, work: Work) -> None:
        count = len(work)
        self.work = work
        self.state = np.zeros(count, dtype=np.int8)
        self.machine: Int64 = np.full(count, NOWHERE, dtype=np.int64)
        self.begun: Float64 = np.full(count, NEVER)
        self.first_begun: Float64 = np.full(count, NEVER)
        self.left: Float64 = work.duration.copy()
        self.evictions: Int64 = np.zeros(count, dtype=np.int64)
        self._ends: list[tuple[float, int, float]] = []
        in_gangs = work.gang[work.gang >= 0]
        self._left_of_gang: Int64 = np.bincount(in_gangs) if len(in_gangs) else np.zeros(0, dtype=np.int64)

    def arrive(self, tasks: Int64) -> None:
        """Record that tasks have arrived and wait."""
        self.state[tasks] = TaskProgress.WAITING

    def place(self, task: int, machine: int, now: float) -> None:
        """Start a task on a machine at ``now``; it ends when its work is done."""
        self.state[task] = TaskProgress.RUNNING
        self.machine[task] = machine
        self.begun[task] = now
        if self.first_begun[task] < 0.0:
            self.first_begun[task] = now
        heappush(self._ends, (now + float(self.left[task]), task, now))

    def begin_at(self, tasks: Int64, begun: Float64) -> None:
        """Set the times at which running tasks began; their ends shift by the same time."""
        for task, when in zip(tasks.tolist(), begun.tolist(), strict=True):
            if self.first_begun[task] == self.begun[task]:
                self.first_begun[task] = when
            self.begun[task] = when
            heappush(self._ends, (when + float(self.left[task]), task, when))

    def stand(self, task: int, machine: int, now: float) -> None:
        """Record that a task runs on a machine on which another scheduler placed it."""
        self.place(task, machine, now)
        self.first_begun[task] = self.work.arrival[task]

    def interrupt(self, task: int, now: float, *, keeps_work: bool) -> None:
        """Stop a running task, which then waits again.

        A stopped task has to do all of its work again or, if ``keeps_work``, only the rest of its work.
        """
        if keeps_work:
            done = max(now - float(self.begun[task]), 0.0)
            self.left[task] = max(float(self.left[task]) - done, 0.001)
        if self.first_begun[task] > now:
            self.first_begun[task] = NEVER
        self.state[task] = TaskProgress.WAITING
        self.machine[task] = NOWHERE
        self.begun[task] = NEVER
        self.evictions[task] += 1

    def set_left(self, tasks: Int64, left: Float64) -> None:
        """Set the total run times of waiting and running tasks, in seconds; a running task's counts from its begin."""
        self.left[tasks] = left
        running = np.flatnonzero(self.state == TaskProgress.RUNNING)
        ends = (self.begun[running] + self.left[running]).tolist()
        self._ends = list(zip(ends, running.tolist(), self.begun[running].tolist(), strict=True))
        heapify(self._ends)

    def let_come_instead(self, arrived: int, coming: Work) -> None:
        """Replace the tasks from number ``arrived`` on, none of which has arrived, by those in ``coming``.

        Gangs of ``coming`` are numbered from 0 on.
        """
        gangs = len(self._left_of_gang)
        gang = np.where(coming.gang == ALONE, ALONE, coming.gang + gangs)
        old, count = self.work, len(coming)
        self.work = Work(
            old.templates,
            np.concatenate([old.arrival[:arrived], coming.arrival]),
            np.concatenate([old.duration[:arrived], coming.duration]),
            np.concatenate([old.template[:arrived], coming.template]),
            np.concatenate([old.gang[:arrived], gang]),
        )
        self.state = np.concatenate([self.state[:arrived], np.zeros(count, dtype=np.int8)])
        self.machine = np.concatenate([self.machine[:arrived], np.full(count, NOWHERE, dtype=np.int64)])
        self.begun = np.concatenate([self.begun[:arrived], np.full(count, NEVER)])
        self.first_begun = np.concatenate([self.first_begun[:arrived], np.full(count, NEVER)])
        self.left = np.concatenate([self.left[:arrived], coming.duration])
        self.evictions = np.concatenate([self.evictions[:arrived], np.zeros(count, dtype=np.int64)])
        self._left_of_gang = np.concatenate([self._left_of_gang, np.bincount(coming.gang[coming.gang >= 0])])

    def withdraw(self, task: int) -> bool:
        """Remove a waiting or running task; return whether it waited or ran."""
        alive = self.state[task] in (TaskProgress.WAITING, TaskProgress.RUNNING)
        if alive:
            self.state[task] = TaskProgress.ENDED
            self.machine[task] = NOWHERE
        return alive

    def next_end(self) -> float | None:
        """Return when the next running task ends, or None if no task runs."""
        while self._ends and not self._is_current(self._ends[0]):
            heappop(self._ends)
        return self._ends[0][0] if self._ends else None

    def take_ended(self, until: float) -> list[int]:
        """End the tasks whose work is done by ``until``; return them in order of their ends."""
        ended = []
        while self._ends and self._ends[0][0] <= until:
            entry = heappop(self._ends)
            if self._is_current(entry):
                task = entry[1]
                self.state[task] = TaskProgress.ENDED
                self.machine[task] = NOWHERE
                ended.append(task)
        gangs = self.work.gang[ended] if ended else np.zeros(0, dtype=np.int64)
        np.subtract.at(self._left_of_gang, gangs[gangs >= 0], 1)
        return ended

    def count_left_of(self, gang: int) -> int:
        """Return how many tasks of a gang have not ended."""
        return int(self._left_of_gang[gang])

    def find_on(self, machine: int) -> list[int]:
        """Return the numbers of the tasks that run on a machine."""
        return np.flatnonzero((self.machine == machine) & (self.state == TaskProgress.RUNNING)).tolist()

    def find(self, state: TaskProgress) -> Int64:
        """Return the numbers of all tasks in a state: int64 array."""
        return np.flatnonzero(self.state == state)

    def _is_current(self, entry: tuple[float, int, float]) -> bool:
        """Return whether an entry of ``_ends`` belongs to the task's present run, and not to an interrupted one."""
        _, task, begun = entry
        return self.state[task] == TaskProgress.RUNNING and self.begun[task] == begun
