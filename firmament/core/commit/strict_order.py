"""Withdraws the places of tasks that a round placed although an earlier task of their StrictFIFO queue still waits."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.problem import Assignments
from firmament.core.preemption.problem import PreemptionDecision
from firmament.core.queue.order import Importance
from firmament.core.ranks import rank
from firmament.core.rules.gangs.members import drop_decisions
from firmament.core.rules.gangs.strict_order import find_exempt_tasks
from firmament.core.rules.quotas.strict_queues import find_strict_queues
from firmament.core.snapshot.snapshot import Snapshot
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase


def withdraw_passing(
    cluster: Cluster,
    snapshot: Snapshot,
    placed: Assignments,
    evictions: tuple[PreemptionDecision, ...],
    now: float,
) -> tuple[Assignments, tuple[PreemptionDecision, ...], frozenset[str]]:
    """Return a round's decisions without those for tasks that come after a waiting one in their strict queue.

    The function also returns the queues in which tasks had passed a waiting task. ``now``: seconds since the epoch.

    The order in a queue: the more important task comes first, then the older one; a gang is where its first task is,
    and loses all of its places or none. The machines of withdrawn places are marked as changed. If there are rules
    between tasks, no place is withdrawn, as a task may have its place because of another one.
    """
    queue_of = find_strict_queues(cluster, snapshot.cls.tolist())
    passed = frozenset[str]()
    if not queue_of or snapshot.problem.rules.counters:
        return placed, evictions, passed
    names = sorted({*queue_of.values()})
    number_of = {name: number for number, name in enumerate(names)}
    queue = np.array([number_of.get(queue_of.get(row, ""), -1) for row in snapshot.cls.tolist()])
    order = _Order(cluster, snapshot, queue, now)
    served = _count_served(snapshot, placed, evictions)
    while True:
        kept, now_passed = order.count_kept(served, len(names))
        if not now_passed:
            break
        passed |= {names[number] for number in now_passed}
        served = kept
    if not passed:
        return placed, evictions, passed
    tasks = placed.tasks()
    stays = rank(tasks.cls) < served[tasks.cls]
    for machine in np.unique(tasks.machine[~stays]).tolist():
        cluster.mark(snapshot.machine_names[machine])
    left = served - placed.count_per_class(len(served)).clip(max=served)
    cls = np.array([each.cls for each in evictions], dtype=np.int64)
    return tasks.select(stays), tuple(drop_decisions(evictions, rank(cls) < left[cls])), passed


def _count_served(
    snapshot: Snapshot, placed: Assignments, evictions: tuple[PreemptionDecision, ...]
) -> Int64:
    """Return how many tasks of each class get places, or have others evicted: int64[C]."""
    classes = len(snapshot.members)
    arriving = np.bincount(np.array([each.cls for each in evictions], dtype=np.int64), minlength=classes)
    return placed.count_per_class(classes) + arriving


def _leave_exempt_out(cluster: Cluster, snapshot: Snapshot, queue: Int64, gang: Int64, now: float) -> Int64:
    """Return the ``queue`` of each class (int64[C]), -1 also for classes with tasks of gangs that are in no order.

    ``gang``: int64[C], the number of each class's gang, -1 for none. The classes of gangs that have become single
    tasks since the round began are in no order, either.
    """
    of_gang = np.isin(gang, gang[(gang >= 0) & (queue >= 0)])
    classes = np.flatnonzero((queue >= 0) | of_gang)
    rows = [snapshot.members[cls] for cls in classes.tolist()]
    cls = np.repeat(classes, [len(each) for each in rows])
    exempt = find_exempt_tasks(cluster, np.concatenate(rows), queue[cls], now)
    found = queue.copy()
    found[cls[exempt]] = -1
    dissolved = [number for number, job in enumerate(snapshot.gangs) if cluster.jobs.gang(job) is None]
    found[np.isin(gang, dissolved)] = -1
    return found


class _Order:
    """The order of the tasks of strict queues in a round.

    ``queue``: int64[C], the number of each class's queue, -1 for none.
    """

    def __init__(self, cluster: Cluster, snapshot: Snapshot, queue: Int64, now: float) -> None:
        problem, tasks = snapshot.problem, cluster.tasks
        self._gang = problem.gang if len(problem.gang) else np.full(problem.classes, -1, dtype=np.int64)
        self._need = problem.gang_need
        queue = _leave_exempt_out(cluster, snapshot, queue, self._gang, now)
        of = [(cls, rows) for cls, rows in enumerate(snapshot.members) if queue[cls] >= 0]
        of = of or [(0, np.empty(0, dtype=np.int64))]
        rows = np.concatenate([rows for _, rows in of])
        self._cls = np.repeat([cls for cls, _ in of], [len(rows) for _, rows in of])
        self._place = rank(self._cls)
        self._queue = queue[self._cls]
        importance = Importance.from_tasks(tasks).rank_waiting(
            tasks.priority[rows], tasks.group_priority[rows]
        )
        turn = np.empty(len(rows), dtype=np.int64)
        turn[tasks.sort_by_age(rows, -importance)] = np.arange(len(rows))
        in_gang = self._gang[self._cls]
        first = np.full(len(self._need) + 1, len(rows), dtype=np.int64)
        np.minimum.at(first, in_gang, turn)
        self._turn = np.where(in_gang >= 0, first[in_gang], turn)
        # A task that waits on its node for victims to leave has its place; a task that has ended needs none.
        self._pending = tasks.state[rows] == TaskPhase.PENDING

    def count_kept(self, served: Int64, queues: int) -> tuple[Int64, list[int]]:
        """Return for how many of the ``served`` tasks of each class nobody waits before them (int64[C] each), and the
        queues in which somebody has been passed.
        """
        gets = self._place < served[self._cls]
        in_gang = self._gang[self._cls]
        counts = np.zeros(len(self._need) + 1, dtype=np.int64)
        np.add.at(counts, self._gang, served)
        complete: Bool = np.append(counts[:-1] >= self._need, False)
        waits = ~gets & ~complete[in_gang] & self._pending
        first = np.full(queues, len(gets), dtype=np.int64)
        np.minimum.at(first, self._queue[waits], self._turn[waits])
        passing = gets & (self._turn > first[self._queue])
        kept = served.copy()
        np.subtract.at(kept, self._cls[passing], 1)
        gangs = np.unique(in_gang[passing])
        kept[np.isin(self._gang, gangs[gangs >= 0])] = 0
        return kept, np.unique(self._queue[passing]).tolist()
