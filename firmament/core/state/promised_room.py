"""Room that was made for a task, kept for it while its binding, or an eviction, waits to be tried again.

Others have been told to leave for the task. If its binding fails, or one of them stays, it loses its place and waits
for its back-off to end; what has been left, or is going to be, stays promised to it meanwhile. The promise ends when
the task is placed, or finds no place in the next round that it takes part in. It is about resources alone: ports,
rules between tasks and what models limit are not kept.

Other schedulers keep room as well, for tasks of theirs that are nominated, and not bound yet. As kube-scheduler has it
(``RunFilterPluginsWithNominatedPods``), it counts as taken for tasks of their priority or less; of what a nominated
task asks for, its resources alone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple, Protocol

import numpy as np

from cost_models.interface import Int64
from firmament.core.resources import ResourceIndex
from firmament.core.state.jobs import JobTable
from firmament.core.state.machines import MachineTable
from firmament.core.state.tasks import TaskPhase, TaskTable

_NOBODY: frozenset[int] = frozenset()


_MOST = 2**53
"""No machine offers more of anything; sums of a thousand such fit 64 bits."""


class ForeignNomination(NamedTuple):
    """A task of another scheduler, and the machine that it waits for. ``requests``: by resource, in base units."""

    machine: str
    priority: int
    requests: Mapping[str, int]


class ForeignNominations:
    """Nominations, ``by_uid`` of their tasks. ``resources``: the columns of machines."""

    def __init__(self, resources: ResourceIndex) -> None:
        self._resources = resources
        self.by_uid: dict[str, ForeignNomination] = {}

    def keep(self, uid: str, payload: bytes | None) -> tuple[str, ...]:
        """Take what a record says, None if it is gone; returns the machines concerned.

        One that cannot be read counts nothing.
        """
        former = self.by_uid.pop(uid, None)
        found = _read(payload) if payload else None
        if found is not None:
            self.by_uid[uid] = found
        return tuple([each.machine for each in (former, found) if each is not None])

    def amounts(self, rows: Mapping[str, int], capacity: Int64, least: int | None) -> Int64 | None:
        """Return what is kept for tasks of at least the priority ``least``, shaped as ``capacity``, int64[M, K].

        ``rows`` are the rows of machines by name; None if no room is promised.
        """
        found: Int64 | None = None
        for each in self.by_uid.values():
            row = rows.get(each.machine)
            if row is None or (least is not None and each.priority < least):
                continue
            if found is None:
                found = np.zeros_like(capacity)
            request = self._resources.vector(each.requests)
            found[row, : len(request)] += request
        return found

    def highest_below(self, priority: int) -> int | None:
        """Return the highest priority of a nominated task that is less than this, None if there is none."""
        return max((each.priority for each in self.by_uid.values() if each.priority < priority), default=None)


def _read(payload: bytes) -> ForeignNomination | None:
    """Read ``{"machine": M, "priority": P, "requests": {RESOURCE: AMOUNT, ...}}``; None for other content."""
    try:
        content = json.loads(payload)
        requests = {
            str(name): min(max(int(amount), 0), _MOST) for name, amount in content["requests"].items()
        }
        return ForeignNomination(str(content["machine"]), int(content["priority"]), requests)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None


class PromisingCluster(Protocol):
    """What promises have to know of the cluster that keeps them."""

    tasks: TaskTable
    machines: MachineTable
    jobs: JobTable

    def where(self, task: int) -> str:
        """Return the name of a task's machine, "" for none."""

    def request_of(self, cls: int) -> Int64:
        """Return the request of a class's tasks, int64[<= K]."""

    def mark(self, machine: str) -> None:
        """Note that something may fit on a machine that did not before."""


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

    def refresh(self, cluster: PromisingCluster) -> None:
        """Forget what has ended, and mark the machines concerned as worth another look."""
        tasks = cluster.tasks
        for uid, machine in list(self.machine_of.items()):
            task = tasks.row_of.get(uid)
            holds = task is not None and (
                (tasks.state[task] == TaskPhase.PENDING and not tasks.unschedulable[task])
                or (tasks.state[task] == TaskPhase.ASSUMED and cluster.where(task) == machine)
            )
            if machine not in cluster.machines.row_of or not holds:
                del self.machine_of[uid]
                cluster.mark(machine)

    def list_called(self, cluster: PromisingCluster, waiting: Int64) -> Int64:
        """Return rows of tasks that have to take part in a round with ``waiting`` (rows), their back-offs
        aside.

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
        cluster: PromisingCluster,
        beside: Collection[int] = _NOBODY,
        least: int | None = None,
        least_of_others: int | None = None,
    ) -> Int64 | None:
        """Return int64[M, K]: what is promised on each machine, None for nothing.

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

    def _claims(self, cluster: PromisingCluster, beside: Collection[int]) -> Iterator[tuple[int, int]]:
        """Yield rows of task and machine of each promise that counts."""
        for uid, machine in self.machine_of.items():
            task = cluster.tasks.row_of.get(uid, -1)
            row = cluster.machines.row_of.get(machine, -1)
            if (
                task >= 0
                and row >= 0
                and task not in beside
                and cluster.tasks.state[task] == TaskPhase.PENDING
            ):
                yield task, row
