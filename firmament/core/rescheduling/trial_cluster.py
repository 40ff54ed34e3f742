"""Keeps the trial cluster by name: on which machines tasks are while they move, and what is free then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.events import ClassDefined, Event, MachineUpserted, TasksBound, TasksSubmitted
from firmament.core.intake.events import select_task
from firmament.core.model import Machine, TaskClass
from firmament.core.rescheduling.room_bound import may_fit


class MachineSets(NamedTuple):
    """The machines that rules allow to classes: ``sets``, bool[M] each, and by class the index of its set."""

    sets: Sequence[Bool]
    of_class: Mapping[int, int]


class TrialCluster:
    """A scheduler for trials with the running tasks of ``events``.

    ``removed``: uids of tasks that end when their machine is removed, and so need no other place. ``emptied``: machines
    that take no tasks any more, in order of emptying; ``moved``: uid -> machine, for tasks that have moved.
    """

    def __init__(self, events: Sequence[Event], removed: Collection[str]) -> None:
        self._machines: dict[str, Machine] = {}
        self._classes: dict[int, TaskClass] = {}
        self._requests: dict[int, Int64] = {}
        self._tasks: dict[str, TasksBound] = {}
        self._home: dict[str, dict[str, None]] = {}
        ending: list[TasksBound] = []
        self._preemptors: dict[str, dict[str, None]] = {}
        self.emptied: dict[str, None] = {}
        self.moved: dict[str, str] = {}
        for each in events:
            match each:
                case MachineUpserted(machine):
                    self._machines[machine.name] = machine
                case ClassDefined(number, content):
                    self._classes[number] = content
                case TasksBound():
                    for index, uid in enumerate(each.uids):
                        task = select_task(each, index)
                        if uid in removed:
                            ending.append(task)
                        else:
                            self._tasks[uid] = task
                            self._home.setdefault(task.machine, {})[uid] = None
        bound = (*self._tasks.values(), *ending)
        self._priority = min((each.priority for each in bound), default=0)
        self._rows = {name: row for row, name in enumerate(self._machines)}
        self._resources = sorted({key for machine in self._machines.values() for key in machine.allocatable})
        offered = [
            [machine.allocatable.get(key, 0) for key in self._resources]
            for machine in self._machines.values()
        ]
        self._total: Int64 = np.array(offered, dtype=np.int64).reshape(
            len(self._machines), len(self._resources)
        )
        self._ends = self._sum_requests(ending)
        self._leaving = self._sum_requests(self._tasks.values())
        self._free = self._total - self._ends - self._leaving

    @property
    def machines(self) -> Iterable[str]:
        """Names of all machines, in the order of their events."""
        return self._machines

    @property
    def resources(self) -> Sequence[str]:
        """Names of the K resources, in the order of the columns of ``free_on``."""
        return self._resources

    def moves(self, machine: str) -> int:
        """Return how many running tasks would need another place if a machine were emptied."""
        return len(self._home.get(machine, ()))

    def most_emptied(self, candidates: Collection[str]) -> int:
        """Return an upper bound on how many of these machines can be emptied, by the requests of each resource.

        For each resource, the fewest of the largest machines that hold all requests have to stay.
        """
        stays = np.array([name not in candidates for name in self._machines], dtype=np.bool_)
        wanted = self._leaving.sum(axis=0) + self._ends[stays].sum(axis=0)
        most = int((~stays).sum())
        for column in range(len(self._resources)):
            missing = wanted[column] - self._total[stays, column].sum()
            largest = np.sort(self._total[~stays, column])[::-1].cumsum()
            needed = int(np.searchsorted(largest, missing)) + 1 if missing > 0 else 0
            most = min(most, len(largest) - min(needed, len(largest)))
        return most

    def content_of(self, task: TasksSubmitted) -> TaskClass:
        """Return the class of a task."""
        return self._classes[task.task_class]

    def machine(self, name: str) -> Machine:
        """Return the description of a machine."""
        return self._machines[name]

    def place_of(self, uid: str) -> str:
        """Return the machine that a task is on now."""
        return self.moved.get(uid, self._tasks[uid].machine)

    def tasks_on(self, machine: str) -> list[str]:
        """Return the uids of the movable tasks that are on a machine now."""
        at_home = [uid for uid in self._home.get(machine, ()) if uid not in self.moved]
        return [*at_home, *self._preemptors.get(machine, ())]

    def free_on(self, machine: str) -> Int64:
        """Return what is free on a machine now: int64[K]."""
        found: Int64 = self._free[self._rows[machine]]
        return found

    def requests_of(self, task_class: int) -> Int64:
        """Return what a task of a class requests: int64[K], read-only."""
        found = self._requests.get(task_class)
        if found is None:
            asked = dict(self._classes[task_class].requests)
            if "pods" in self._resources:
                asked.setdefault("pods", 1)
            found = np.array([asked.get(key, 0) for key in self._resources], dtype=np.int64)
            found.flags.writeable = False
            self._requests[task_class] = found
        return found

    def requests_of_task(self, uid: str) -> Int64:
        """Return what a task requests: int64[K]."""
        return self.requests_of(self._tasks[uid].task_class)

    def _settle(self, uid: str, machine: str) -> None:
        """Record that a task is now on a machine."""
        row = self.requests_of_task(uid)
        self._free[self._rows[self.place_of(uid)]] += row
        self._free[self._rows[machine]] -= row
        self._preemptors.get(self.place_of(uid), {}).pop(uid, None)
        if machine == self._tasks[uid].machine:
            self.moved.pop(uid, None)
        else:
            self.moved[uid] = machine
            self._preemptors.setdefault(machine, {})[uid] = None

    def _may_fit(self, machines: Sequence[str], uids: Sequence[str], open_to: MachineSets) -> bool:
        """Return whether the tasks ``uids`` may all have places elsewhere, see ``may_fit``; False is certain."""
        free = np.maximum(self._free, 0)
        free[[self._rows[name] for name in (*self.emptied, *machines)]] = 0
        number = Counter(self._tasks[uid].task_class for uid in uids)
        requests = np.array([self.requests_of(cls) for cls in number], dtype=np.int64)
        return may_fit(
            free,
            requests.reshape(len(number), len(self._resources)),
            np.array([*number.values()], dtype=np.int64),
            np.array([open_to.of_class[cls] for cls in number], dtype=np.int64),
            open_to.sets,
        )

    def _one_of_each_class(self) -> dict[int, str]:
        """Return the uid of one movable task of each class that has one."""
        return {each.task_class: uid for uid, each in self._tasks.items()}

    def _sum_requests(self, tasks: Iterable[TasksBound]) -> Int64:
        """Return what ``tasks`` on each machine request together: int64[M, K]."""
        requested = np.zeros_like(self._total)
        for task in tasks:
            if task.machine in self._rows:
                requested[self._rows[task.machine]] += self.requests_of(task.task_class)
        return requested
