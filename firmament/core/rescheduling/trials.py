"""Tries what would become of the tasks of machines that are taken away: by rounds of a scheduler of its own.

So every rule and every cost model counts as in ordinary rounds. After each try everything is as it was before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cost_models.interface import Int64
from firmament.core.events import (
    ClassDefined,
    Event,
    MachineRemoved,
    MachineUpserted,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Machine, TaskClass
from firmament.core.results import DeltaKind
from firmament.core.scheduler import Scheduler

_MOST_ROUNDS = 4
"""One round places all that it can; another may follow gangs and rules between tasks."""


class Trials:
    """A scheduler that knows of ``events`` what runs: tasks that wait take no part.

    ``goes``: uids of tasks that end with their machine, and need no other place. ``tried`` counts.
    """

    def __init__(self, scheduler: Scheduler, events: Sequence[Event], goes: Collection[str] = ()) -> None:
        self._scheduler = scheduler
        self._goes = frozenset(goes)
        self._machines: dict[str, Machine] = {}
        self._classes: dict[int, TaskClass] = {}
        self._bound: dict[str, list[TasksBound]] = {}
        self.tried = 0
        kept = [each for each in events if not isinstance(each, TasksSubmitted)]
        scheduler.apply(kept)
        lowest = 0
        for each in kept:
            match each:
                case MachineUpserted(machine):
                    self._machines[machine.name] = machine
                case ClassDefined(number, content):
                    self._classes[number] = content
                case TasksBound():
                    self._bound.setdefault(each.machine, []).extend(_one_by_one(each))
                    lowest = min(lowest, each.priority)
        self._priority = lowest
        self._rows = {name: row for row, name in enumerate(self._machines)}
        self._resources = sorted({key for machine in self._machines.values() for key in machine.allocatable})
        self._free, self._leaving = self._amounts()

    @property
    def machines(self) -> Iterable[str]:
        """Names of all machines, in the order in which they came."""
        return self._machines

    def moving(self, machine: str) -> tuple[str, ...]:
        """Uids of the tasks of a machine that would need another place."""
        return tuple(each.uids[0] for each in self._tasks(machine) if each.uids[0] not in self._goes)

    def most_emptied(self, candidates: Collection[str]) -> int:
        """Return how many of these machines can be emptied at most: more leave too little room for what is requested.

        For each resource by itself: as many machines have to stay, the largest, as hold all requests together.
        """
        stays = np.array([name not in candidates for name in self._machines])
        room = self._free + self._leaving + self._staying()
        wanted = self._leaving.sum(axis=0) + self._staying()[stays].sum(axis=0)
        most = int((~stays).sum())
        for column in range(len(self._resources)):
            missing = wanted[column] - room[stays, column].sum()
            largest = np.sort(room[~stays, column])[::-1].cumsum()
            needed = int(np.searchsorted(largest, missing)) + 1 if missing > 0 else 0
            most = min(most, len(largest) - min(needed, len(largest)))
        return most

    def empty(self, machines: Sequence[str]) -> Mapping[str, str] | None:
        """Return where the tasks of ``machines`` would go without these, by uid; None unless all have a place.

        Nobody else moves, and nobody is evicted for them.
        """
        if not self._may_fit(machines):
            return None
        self.tried += 1
        leaving = [each for name in machines for each in self._tasks(name)]
        moving = [each for each in leaving if each.uids[0] not in self._goes]
        self._scheduler.apply(
            [
                *(TaskRemoved(each.uids[0]) for each in leaving),
                *(MachineRemoved(name) for name in machines),
                *(self._submitted(each) for each in moving),
            ]
        )
        found = self._placed(len(moving))
        self._scheduler.apply(
            [
                *(TaskRemoved(each.uids[0]) for each in moving),
                *(MachineUpserted(self._machines[name]) for name in machines),
                *leaving,
            ]
        )
        return found

    def _placed(self, wanted: int) -> Mapping[str, str] | None:
        found: dict[str, str] = {}
        for _ in range(_MOST_ROUNDS):
            if len(found) == wanted:
                return found
            result = self._scheduler.run_round()
            if any(delta.kind is not DeltaKind.PLACE for delta in result.deltas) or not result.deltas:
                return None
            found.update((delta.uid, delta.machine) for delta in result.deltas)
        return found if len(found) == wanted else None

    def _submitted(self, task: TasksBound) -> TasksSubmitted:
        # None is so important that others would have to make way.
        return TasksSubmitted(
            task.task_class,
            task.uids,
            job=task.job,
            priority=self._priority,
            names=task.names,
            spread_group=task.spread_group,
        )

    def _tasks(self, machine: str) -> list[TasksBound]:
        return self._bound.get(machine, [])

    def _may_fit(self, machines: Sequence[str]) -> bool:
        """Whether there is room for all, resource by resource, if rules and fractions did not matter."""
        rows = [self._rows[name] for name in machines]
        left = np.maximum(self._free, 0).sum(axis=0) - np.maximum(self._free[rows], 0).sum(axis=0)
        return bool((self._leaving[rows].sum(axis=0) <= left).all())

    def _amounts(self) -> tuple[Int64, Int64]:
        """int64[M, K] each: what is free, and what tasks take that would need another place."""
        free = np.array(
            [
                [machine.allocatable.get(key, 0) for key in self._resources]
                for machine in self._machines.values()
            ],
            dtype=np.int64,
        ).reshape(len(self._machines), len(self._resources))
        leaving = np.zeros_like(free)
        for name, row in self._rows.items():
            for task in self._tasks(name):
                taken = self._requests(task)
                free[row] -= taken
                if task.uids[0] not in self._goes:
                    leaving[row] += taken
        return free, leaving

    def _staying(self) -> Int64:
        """int64[M, K]: what tasks take that end with their machine."""
        total = np.array(
            [
                [machine.allocatable.get(key, 0) for key in self._resources]
                for machine in self._machines.values()
            ],
            dtype=np.int64,
        ).reshape(self._free.shape)
        return total - self._free - self._leaving

    def _requests(self, task: TasksBound) -> Int64:
        content = self._classes[task.task_class]
        asked = dict(content.requests)
        if "pods" in self._resources:
            asked.setdefault("pods", 1)
        return np.array([asked.get(key, 0) for key in self._resources], dtype=np.int64)


def _one_by_one(bound: TasksBound) -> Iterable[TasksBound]:
    for index, uid in enumerate(bound.uids):
        yield replace(
            bound,
            uids=(uid,),
            names=bound.names[index : index + 1],
            assigned=bound.assigned[index : index + 1],
            initialized=bound.initialized[index : index + 1],
        )
