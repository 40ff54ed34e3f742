"""Keeps capacity that was freed for a task while its binding, or an eviction, waits to be retried.

This module calls the capacity a promise: other tasks have been evicted for the task that has it. If the task's
binding fails, or a victim stays, the task loses its machine and waits for its back-off to end. Meanwhile the capacity
that victims free stays promised to the task. The promise ends when the task is placed, or when the next round that it
takes part in finds no machine for it. The promise covers resources alone, not ports, rules between tasks or models'
limits.

Other schedulers keep capacity too, for their tasks that are nominated and not bound yet. As in kube-scheduler
(``RunFilterPluginsWithNominatedPods``), the capacity for nominated tasks counts as used for tasks of at most the same
priority. Only the resources of a nominated task count.
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
"""Limit on an amount: no machine offers more of anything, and sums of a thousand such amounts fit into 64 bits."""


class ForeignNomination(NamedTuple):
    """A task of another scheduler that is nominated for a machine.

    ``requests``: base units by resource.
    """

    machine: str
    priority: int
    requests: Mapping[str, int]


class ForeignNominations:
    """Nominations by other schedulers; ``by_uid``: by uid of the nominated task.

    ``resources``: the columns of the machine table.
    """

    def __init__(self, resources: ResourceIndex) -> None:
        self._resources = resources
        self.by_uid: dict[str, ForeignNomination] = {}

    def put(self, uid: str, payload: bytes | None) -> tuple[str, ...]:
        """Store the nomination in a record (None: it is deleted); return the machines concerned.

        An unreadable record counts as deleted.
        """
        former = self.by_uid.pop(uid, None)
        found = _read(payload) if payload else None
        if found is not None:
            self.by_uid[uid] = found
        return tuple([each.machine for each in (former, found) if each is not None])

    def amounts(self, rows: Mapping[str, int], capacity: Int64, least: int | None) -> Int64 | None:
        """Return what is kept for tasks of at least priority ``least``, int64[M, K], shaped as ``capacity``; or None.

        ``rows``: rows of machines by name. None: nothing is kept for tasks of other schedulers.
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
        """Return the highest priority below ``priority`` that a nominated task has; None if there is none."""
        return max((each.priority for each in self.by_uid.values() if each.priority < priority), default=None)


def _read(payload: bytes) -> ForeignNomination | None:
    """Read ``{"machine": M, "priority": P, "requests": {RESOURCE: AMOUNT, ...}}``; return None for other content."""
    try:
        content = json.loads(payload)
        requests = {
            str(name): min(max(int(amount), 0), _MOST) for name, amount in content["requests"].items()
        }
        return ForeignNomination(str(content["machine"]), int(content["priority"]), requests)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None


class PromisingCluster(Protocol):
    """The part of `Cluster` that `PromisedRoom` uses."""

    tasks: TaskTable
    machines: MachineTable
    jobs: JobTable

    def where(self, task: int) -> str:
        """Return the name of a task's machine, "" for none."""

    def request_of(self, cls: int) -> Int64:
        """Return the request of a class's tasks, int64[<= K]."""

    def mark(self, machine: str) -> None:
        """Record that tasks may fit on a machine where they did not fit before."""


class PromisedRoom:
    """Capacity that is promised to tasks.

    ``machine_of``: by uid of the task, the name of the machine.

    A promise counts only while its task is pending; once the task is assumed there again, it uses the capacity
    itself. A task to which capacity is ``owed`` (see ``TaskTable``) gets a promise wherever it loses its machine,
    even if victims left another machine for it. A waiting task may move, or be rearranged after a restart.

    ``others``: what other schedulers keep for their tasks.
    """

    def __init__(self, others: ForeignNominations) -> None:
        self.machine_of: dict[str, str] = {}
        self.others = others

    def refresh(self, cluster: PromisingCluster) -> None:
        """Drop the promises that have ended, and mark the machines concerned as changed."""
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
        """Return the rows of tasks that must take part in a round although their back-off has not ended.

        ``waiting``: rows of the tasks that take part anyway.

        A more important task that was promised capacity can thus come first, and need not wait until its back-off
        ends. Gangs take part as a whole, so their members are not included before their back-offs end.
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
        """Return what is promised on each machine: int64[M, K]; None for nothing.

        Some promises are left out: those to tasks ``beside`` (rows), those to tasks of lower priority than ``least``,
        and those of other schedulers to tasks of lower priority than ``least_of_others``.
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
        """Yield the rows of task and machine of each promise that counts."""
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
