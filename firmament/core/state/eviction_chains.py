"""Remembers which workload was recently evicted for which other one, so that evictions never go round in a circle.

A workload is a task, or a gang as a whole. A task that its owner creates again after an eviction counts as the same
workload. The *chain* of evictions is a graph: each eviction is an arc from the workload that comes to the workload
that leaves. The *origins* of a workload are all workloads from which arcs lead to it: it waits because of them, so it
must not evict them in turn. Since a workload never evicts its origins, arcs never form a circle, and evictions end
(docs/decisions/0036).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from firmament.core.back_off import compute_back_off
from firmament.core.model import TaskClass
from firmament.core.record_kinds import FLAVOR_RECORD, QUOTA_RECORD
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase

MEMORY = 600.0
"""Seconds for which an eviction is remembered the first time; each repetition of the eviction doubles the time.

The time should be several times a pod's termination grace period (30 s by default): a circle of evictions takes that
long to close. A workload may have to wait as long as an eviction is remembered, although it could rightly evict
another workload.
"""
LONGEST = 86_400.0
"""The most seconds for which an eviction is remembered."""

Workload: TypeAlias = tuple[str, str]
"""(ID of a gang's job, ""), or ("", uid that a task had when it was first evicted or evicted others)."""


@dataclass(frozen=True, slots=True)
class _EvictedTask:
    """A task that was evicted, with what identifies the task that its owner creates in its place."""

    workload: Workload
    uid: str
    job: str
    content: TaskClass
    priority: int
    evicted: float
    """The time at which the task was evicted."""

    def is_followed_by(self, cluster: Cluster, task: int) -> bool:
        """Return whether a task (row) of the same job may have been created in place of this one."""
        tasks = cluster.tasks
        return bool(
            self.job
            and tasks.arrived[task] >= self.evicted
            and tasks.priority[task] == self.priority
            and cluster.classes.rows[int(tasks.cls[task])].content == self.content
        )


class EvictionChains:
    """The latest evictions of a cluster, by which circles of evictions are noticed.

    The evictions are forgotten when the solver restarts.

    ``any``: whether any eviction is remembered; otherwise no method has anything to return.
    """

    def __init__(self) -> None:
        self.any = False
        self._origins: dict[Workload, dict[Workload, tuple[float, float]]] = {}
        """By workload that had to leave: the workloads that came instead, when that last happened, and until when it
        is remembered."""
        self._ends: list[tuple[float, Workload, Workload]] = []
        """A heap of (until when it is remembered, workload that came, workload that left)."""
        self._turns: dict[tuple[Workload, Workload], int] = {}
        """How often the first workload of a pair came instead of the second, even if that is no longer remembered."""
        self._evicted: dict[Workload, _EvictedTask] = {}
        """Tasks that were evicted, and that their owner may create again."""
        self._first: dict[str, Workload] = {}
        """By uid of a task that was created again: its workload."""
        self._present: dict[Workload, str] = {}
        """By workload: the uid of the task that was created again, the reverse of ``_first``."""
        self._seen = -1
        """The sequence number of the last task that was compared with evicted ones."""
        self._stated: tuple[int, ...] = ()
        """How often quotas and flavors had changed when evictions were last counted."""

    def copy(self) -> EvictionChains:
        """Return an independent copy."""
        twin = EvictionChains()
        twin.any, twin._seen = self.any, self._seen
        twin._origins = {workload: dict(origins) for workload, origins in self._origins.items()}
        twin._ends, twin._turns, twin._stated = self._ends.copy(), dict(self._turns), self._stated
        twin._evicted, twin._first = dict(self._evicted), dict(self._first)
        twin._present = dict(self._present)
        return twin

    def find_workload(self, cluster: Cluster, task: int) -> Workload:
        """Return the workload of a task (row)."""
        job = cluster.tasks.job[task]
        if cluster.jobs.gang(job) is not None:
            return job, ""
        uid = cluster.tasks.uid[task]
        return self._first.get(uid, ("", uid))

    def list_tasks(self, cluster: Cluster, workload: Workload) -> list[int]:
        """Return the tasks (rows) that a workload has now."""
        job, uid = workload
        if job:
            return cluster.jobs.members(job)
        row = cluster.tasks.row_of.get(self._present.get(workload, uid))
        return [] if row is None else [row]

    def note(self, cluster: Cluster, coming: int, going: Iterable[int], now: float) -> None:
        """Record that tasks (``going``, rows) are evicted for another task (``coming``, row)."""
        preemptor, tasks = self.find_workload(cluster, coming), cluster.tasks
        if not self._origins and self._stated != _count_changes(cluster):
            self._turns.clear()
            self._stated = _count_changes(cluster)
        for task in going:
            evicted = self.find_workload(cluster, task)
            if evicted == preemptor:
                continue
            self.any = True
            origins = self._origins.setdefault(evicted, {})
            # An eviction counts once, even if several tasks of a gang leave.
            if preemptor not in origins or origins[preemptor][0] != now:
                turns = self._turns[preemptor, evicted] = self._turns.get((preemptor, evicted), 0) + 1
                until = now + compute_back_off(turns, first=MEMORY, last=LONGEST)
                origins[preemptor] = now, until
                heapq.heappush(self._ends, (until, preemptor, evicted))
            if evicted[1]:
                content = cluster.classes.rows[int(tasks.cls[task])].content
                self._evicted[evicted] = _EvictedTask(
                    evicted, tasks.uid[task], tasks.job[task], content, int(tasks.priority[task]), now
                )

    def take_back(self, cluster: Cluster, task: int) -> None:
        """Record that a task (row) stays after all, although it was the last to be recorded as evicted."""
        workload = self.find_workload(cluster, task)
        origins = self._origins.get(workload)
        if not origins:
            return
        last = max(noted for noted, _ in origins.values())
        for origin in [each for each, (noted, _) in origins.items() if noted == last]:
            self._turns[origin, workload] -= 1
            self._drop(origin, workload)
        self._evicted.pop(workload, None)

    def expire(self, cluster: Cluster, now: float) -> list[int]:
        """Forget evictions that are too old, or all evictions if quotas have changed.

        Return the waiting tasks (rows) that are to be tried again because evictions were forgotten.
        """
        changed = _count_changes(cluster) != self._stated
        if not changed and (self.next_in(now) or 0.0) > 0:
            return []
        all_evicted = self.list_evicted()
        while self._ends and (changed or self._ends[0][0] <= now):
            until, preemptor, evicted = heapq.heappop(self._ends)
            if self._origins.get(evicted, {}).get(preemptor, (0.0, 0.0))[1] == until:
                self._drop(preemptor, evicted)
        if changed:
            self._turns.clear()
        rows = sorted({row for each in all_evicted for row in self.list_tasks(cluster, each)})
        self._drop_names(cluster)
        tasks = cluster.tasks
        return [row for row in rows if tasks.state[row] == TaskPhase.PENDING and not tasks.refused[row]]

    def next_in(self, now: float) -> float | None:
        """Return the seconds until an eviction is forgotten; None if none is remembered."""
        return max(0.0, self._ends[0][0] - now) if self._ends else None

    def find_origins(self, cluster: Cluster, workload: Workload) -> set[Workload]:
        """Return the workloads that a workload must not evict: those from which evictions led to it.

        Arcs through workloads that have ended do not count.
        """
        found: set[Workload] = set()
        todo = [workload]
        while todo:
            for origin in self._origins.get(todo.pop(), ()):
                if origin not in found and self._is_there(cluster, origin):
                    found.add(origin)
                    todo.append(origin)
        found.discard(workload)
        return found

    def list_evicted(self) -> list[Workload]:
        """Return the workloads that others have evicted, and that must not evict those in return; in a fixed order."""
        return list(self._origins)

    def _drop(self, preemptor: Workload, evicted: Workload) -> None:
        del self._origins[evicted][preemptor]
        if not self._origins[evicted]:
            del self._origins[evicted]
            self.any = bool(self._origins)
            self._evicted.pop(evicted, None)

    def _drop_names(self, cluster: Cluster) -> None:
        """Drop what is known about workloads that have ended, or were never evicted for another."""
        there = {each: self._is_there(cluster, each) for pair in self._turns for each in pair}
        self._turns = {
            pair: count for pair, count in self._turns.items() if there[pair[0]] and there[pair[1]]
        }
        known = {*self._origins, *(each for pair in self._turns for each in pair)}
        self._first = {uid: each for uid, each in self._first.items() if each in known}
        self._present = {each: uid for each, uid in self._present.items() if each in known}

    def _is_there(self, cluster: Cluster, workload: Workload) -> bool:
        """Return whether a workload has tasks, or was evicted and may be created again."""
        job, uid = workload
        if job:
            return job in cluster.jobs.ids
        return workload in self._evicted or self._present.get(workload, uid) in cluster.tasks.row_of

    def record_successors(self, cluster: Cluster) -> None:
        """Record which waiting tasks an owner has created in place of evicted ones: both count as one workload.

        If several tasks of one owner were evicted, the first of them in order is matched with the task that came
        first.
        """
        tasks = cluster.tasks
        pending = tasks.in_state(TaskPhase.PENDING)
        new = pending[tasks.sequence[pending] > self._seen]
        if not len(new):
            return
        self._seen = int(tasks.sequence[new].max())
        evicted: dict[str, list[_EvictedTask]] = {}
        for each in self._evicted.values():
            evicted.setdefault(each.job, []).append(each)
        for row in new[np.argsort(tasks.sequence[new])].tolist():
            same = evicted.get(tasks.job[row], [])
            former = next((each for each in same if each.uid == tasks.uid[row]), None)
            former = former or next((each for each in same if each.is_followed_by(cluster, row)), None)
            if former is not None:
                same.remove(former)
                self._hand_on(former, tasks.uid[row])

    def _hand_on(self, former: _EvictedTask, uid: str) -> None:
        """Let the task ``uid`` count as the same workload as an evicted one."""
        del self._evicted[former.workload]
        if former.uid != uid:
            self._first.pop(former.uid, None)
            self._first[uid], self._present[former.workload] = former.workload, uid


def _count_changes(cluster: Cluster) -> tuple[int, ...]:
    """Return how often quotas and flavors have changed."""
    return tuple(cluster.records.changes[kind] for kind in (QUOTA_RECORD, FLAVOR_RECORD))
