"""Room that was made for a task, kept for it while its binding, or an eviction, waits to be tried again.

Others have been told to leave for the task. If its binding fails, or one of them stays, it loses its place and waits
for its back-off to end; what has been left, or is going to be, stays promised to it meanwhile. The promise ends when
the task is placed, or finds no place in the next round that it takes part in. It is about resources alone: ports,
rules between tasks and what models limit are not kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Protocol

import numpy as np

from cost_models.interface import Int64
from firmament.core.state.foreign_nominations import ForeignNominations
from firmament.core.state.jobs import JobTable
from firmament.core.state.machines import MachineTable
from firmament.core.state.tasks import State, TaskTable

_NOBODY: frozenset[int] = frozenset()


class ClusterView(Protocol):
    """What promises have to know of the cluster that keeps them."""

    tasks: TaskTable
    machines: MachineTable
    jobs: JobTable

    def where(self, task: int) -> str:
        """Return the name of a task's machine, "" for none."""

    def request_of(self, cls: int) -> Int64:
        """Return the request of a class's tasks, int64[<= K]."""

    def mark(self, machine: str) -> None:
        """Something may fit on a machine that did not before."""


class PromisedRoom:
    """``machine_of``: the tasks (by uid) to which room is promised, and the machine (by name) of each.

    A promise counts only while its task is pending; one that is assumed there again has its room by that. Tasks that
    are ``owed`` room (see ``TaskTable``) get a promise wherever they lose their place: others were told to leave for
    them, be it on another machine, as tasks that wait may move or be shuffled after a restart.

    ``others`` are what other schedulers keep for tasks of theirs.
    """

    def __init__(self, others: ForeignNominations) -> None:
        self.machine_of: dict[str, str] = {}
        self.others = others

    def make(self, uid: str, machine: str) -> None:
        """Promise the room that a task asks for on the machine that it has just lost its place on."""
        self.machine_of[uid] = machine

    def refresh(self, cluster: ClusterView) -> None:
        """Forget what has ended, and mark the machines concerned as worth another look."""
        tasks = cluster.tasks
        for uid, machine in list(self.machine_of.items()):
            task = tasks.row_of.get(uid)
            pending = (
                task is not None and tasks.state[task] == State.PENDING and not tasks.unschedulable[task]
            )
            back = task is not None and tasks.state[task] == State.ASSUMED and cluster.where(task) == machine
            if machine not in cluster.machines.row_of or not (pending or back):
                del self.machine_of[uid]
                cluster.mark(machine)

    def called(self, cluster: ClusterView, waiting: Int64) -> Int64:
        """Rows of tasks that have to take part in a round with ``waiting`` (rows), their back-offs aside.

        A more important task comes before them, and need not wait until they are tried again. Gangs are called whole,
        and so not before their time.
        """
        tasks, gangs = cluster.tasks, cluster.jobs.gangs
        if not len(waiting):
            return np.empty(0, dtype=np.int64)
        highest = int(tasks.priority[waiting].max())
        found = [
            task
            for task, _ in self._claims(cluster, frozenset(waiting.tolist()))
            if tasks.priority[task] < highest and tasks.job[task] not in gangs
        ]
        return np.array(found, dtype=np.int64)

    def amounts(
        self,
        cluster: ClusterView,
        beside: Collection[int] = _NOBODY,
        least: int | None = None,
        least_of_others: int | None = None,
    ) -> Int64 | None:
        """int64[M, K]: what is promised on each machine, None for nothing.

        Not to tasks ``beside`` (rows), and not to tasks of less priority than ``least``, or ``least_of_others`` where
        they are another scheduler's.
        """
        machines = cluster.machines
        found = self.others.amounts(machines.row_of, machines.capacity, least_of_others)
        for task, row in self._claims(cluster, beside):
            if least is not None and cluster.tasks.priority[task] < least:
                continue
            if found is None:
                found = np.zeros_like(cluster.machines.capacity)
            request = cluster.request_of(int(cluster.tasks.cls[task]))
            found[row, : len(request)] += request
        return found

    def _claims(self, cluster: ClusterView, beside: Collection[int]) -> Iterator[tuple[int, int]]:
        """Rows of task and machine of each promise that counts."""
        for uid, machine in self.machine_of.items():
            task = cluster.tasks.row_of.get(uid, -1)
            row = cluster.machines.row_of.get(machine, -1)
            if task >= 0 and row >= 0 and task not in beside and cluster.tasks.state[task] == State.PENDING:
                yield task, row
