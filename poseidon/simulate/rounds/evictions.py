"""Keeps evictions that are decided and not yet written, and placements that wait until victims have left.

A victim runs until its eviction is written. If the victim ends earlier, or its node fails, the eviction has no
effect.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush
from typing import NamedTuple

from poseidon.simulate.tasks import TaskColumns, TaskProgress


class Promise(NamedTuple):
    """A placement that waits until victims have left."""

    task: int
    machine: str
    victims: set[int]
    """The victims that have not left yet."""


class EvictionsUnderWay:
    """The evictions of a simulation that have not taken effect."""

    def __init__(self, tasks: TaskColumns) -> None:
        self._tasks = tasks
        self._written: list[tuple[float, int, int, float]] = []
        """A heap of evictions: when each is written, its sequence number, its victim, and the begin of its run."""
        self._turns = 0
        self._begun: dict[int, float] = {}
        """When the run began that is to end, by victim."""
        self._promises: dict[int, Promise] = {}
        """The placements that wait for victims, by task."""

    def __contains__(self, task: int) -> bool:
        """Return whether a task is a victim that has not left yet."""
        return task in self._begun

    def add(self, victim: int, written: float) -> None:
        """Begin the eviction of a running task.

        ``written`` is when the API server gets the eviction, in seconds since the beginning.
        """
        self._begun[victim] = float(self._tasks.begun[victim])
        heappush(self._written, (written, self._turns, victim, self._begun[victim]))
        self._turns += 1

    def find_next_written(self) -> float | None:
        """Return when the next eviction is written, or None if no eviction has begun."""
        while self._written and not self._is_running(*self._written[0][2:]):
            heappop(self._written)
        return self._written[0][0] if self._written else None

    def take_written(self, now: float) -> list[int]:
        """Return, in order, the victims whose evictions have been written by ``now``; until then, victims run on."""
        found = []
        while (when := self.find_next_written()) is not None and when <= now:
            found.append(heappop(self._written)[2])
        return found

    def promise(self, task: int, machine: str, victims: Iterable[int]) -> bool:
        """Keep a placement until its victims have left; it replaces an earlier placement of the task.

        Return False if all victims have left already.
        """
        self._promises.pop(task, None)
        left = {each for each in victims if each in self._begun}
        if left:
            self._promises[task] = Promise(task, machine, left)
        return bool(left)

    def waits(self, task: int) -> bool:
        """Return whether a task waits for victims to leave."""
        return task in self._promises

    def let_leave(self, tasks: Iterable[int]) -> None:
        """Record that tasks have left their nodes."""
        gone = {each for each in tasks if self._begun.pop(each, None) is not None}
        for promise in self._promises.values() if gone else ():
            promise.victims.difference_update(gone)

    def take_ready(self) -> list[Promise]:
        """Return the placements whose victims have all left, and forget them."""
        ready = [promise for promise in self._promises.values() if not promise.victims]
        for promise in ready:
            del self._promises[promise.task]
        return ready

    def break_promises(self, *, victim: int | None = None, machine: str | None = None) -> None:
        """Forget the placements that wait for a victim, or that are on a machine."""
        for promise in [*self._promises.values()]:
            if victim in promise.victims or promise.machine == machine:
                del self._promises[promise.task]

    def _is_running(self, victim: int, begun: float) -> bool:
        """Return whether a victim is still in the run that began at ``begun``."""
        running = self._tasks.state[victim] == TaskProgress.RUNNING
        return bool(running) and self._begun.get(victim) == begun == self._tasks.begun[victim]
