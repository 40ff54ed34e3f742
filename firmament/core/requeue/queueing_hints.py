"""Keeps unschedulable tasks out of rounds until an event could help them.

A class is requeued when a machine that changed (or has more free) would now take one of its tasks. The check is exact
except for models' filters and joint rows. A class with rules about other tasks is also requeued when such another
task has come to any machine or left one, and when the domains of a label change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cost_models.interface import Int64
from firmament.core.constraints.counters import RuleState
from firmament.core.diagnosis.preemption_reasons import sum_evictable
from firmament.core.filters.static_rows import StaticRows
from firmament.core.model import TaskClass
from firmament.core.queue.order import Importance
from firmament.core.queue.reservations import Reservations
from firmament.core.queue.restart_room import list_kept_rows
from firmament.core.ranks import group_rows
from firmament.core.requeue.quota_bounds import QuotaBounds
from firmament.core.rules.node_name import list_pinned_rows
from firmament.core.rules.registry import (
    compile_rules,
    list_helped_by_labels,
    list_ruled,
)
from firmament.core.rules.task_amounts import spare_amounts
from firmament.core.rules.what_tasks_await import (
    any_waits,
    list_awaited,
    list_excluded_selectors,
    list_pools,
)
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase
from firmament.core.state.waiting import activate


def requeue(
    feasible: FeasibleMachines, choose: Callable[[Int64], Int64], placed: frozenset[int] = frozenset()
) -> bool:
    """Requeue every task that a changed machine could take; return whether any task was requeued.

    Machines stay marked as changed. ``placed``: rows of classes of which a round has just placed tasks. Tasks that
    were refused for good stay out. ``choose`` returns the tasks that are checked at once; all other tasks are tried
    later.
    """
    cluster, dirty = feasible.cluster, feasible.cluster.dirty
    touched = dirty.touched | placed
    if not (dirty.any_machine or dirty.domains_changed or touched):
        return False
    tasks = cluster.tasks
    unschedulable = tasks.list_unschedulable()
    if len(unschedulable) == 0:
        return False
    if dirty.everywhere:
        activate(cluster, unschedulable)
        return True
    unschedulable = choose(unschedulable)
    if len(unschedulable) == 0:
        return False
    hints = QueueingHints(cluster, touched, domains_changed=dirty.domains_changed)
    rows = dirty.rows()
    free = cluster.free()[rows]
    requeued_classes: list[int] = []
    fitting: dict[int, Int64] = {}
    ranks = EvictionRanks(cluster)
    classes, waiting = _group_by_class(cluster, unschedulable)
    quotas = QuotaBounds(cluster, classes, feasible.reservations.gangs.held)
    hopeful: dict[int, Int64] = {}
    for cls, members in zip(classes, waiting, strict=True):
        hopeful[cls] = quotas.select(cls, members)
        if not len(hopeful[cls]):
            continue
        if hints.may_help(cls):
            requeued_classes.append(cls)
            continue
        if cluster.has_promises:
            beside = members.tolist() if cluster.restarts.by_uid else ()
            free = cluster.free(beside, least=int(tasks.priority[members].max()))[rows]
        takes = feasible.find_feasible(rows, free, cls, members)
        if len(takes):
            fitting[cls] = takes
        elif feasible.by_evictions(rows, free, cls, members, ranks):
            requeued_classes.append(cls)
    requeued_classes += _list_allowed(cluster, fitting)
    requeued = np.concatenate([unschedulable[:0], *(hopeful[cls] for cls in requeued_classes)])
    if dirty.domains_changed:
        requeued = np.append(requeued, list_helped_by_labels(cluster, unschedulable))
    activate(cluster, requeued)
    return bool(len(requeued))


def _group_by_class(cluster: Cluster, rows: Int64) -> tuple[list[int], list[Int64]]:
    """Return the classes of tasks (rows), ascending, and the tasks of each."""
    present, of = np.unique(cluster.tasks.cls[rows], return_inverse=True)
    return present.tolist(), [rows[members] for members in group_rows(of)]


class EvictionRanks:
    """Ranks the tasks of a cluster by importance; the ranks are computed at most once, when first needed."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @cached_property
    def importance(self) -> Importance:
        """The importance of all tasks."""
        return Importance.from_tasks(self._cluster.tasks)

    @cached_property
    def lowest(self) -> float:
        """The rank of the least important bound task; infinite if no task is bound."""
        tasks = self._cluster.tasks
        bound = tasks.in_state(TaskPhase.BOUND)
        return float(self.importance.rank_victims(tasks, bound).min()) if len(bound) else math.inf


@dataclass(frozen=True, slots=True)
class FeasibleMachines:
    """Finds machines that would take tasks of a class (row), apart from rules between tasks.

    ``members`` (rows): the class's waiting tasks.
    """

    cluster: Cluster
    static_rows: StaticRows
    reservations: Reservations

    def find_feasible(self, rows: Int64, free: Int64, cls: int, members: Int64) -> Int64:
        """Return those of the machines in ``rows``, with ``free`` amounts, that would take one task."""
        if len(rows) == 0:
            return rows
        cluster = self.cluster
        shape, request = cluster.classes.rows[cls].shape, cluster.request_of(cls)
        less = spare_amounts(cluster, shape, rows)
        free = free if less is None else free + less
        wanted = np.flatnonzero(request)  # Only requested resources count: the others may be overcommitted.
        enough = (free[:, wanted] >= request[wanted]).all(axis=1)
        takes = rows[self.static_rows.get(shape).feasible[rows] & enough]
        if len(takes) and (pinned := list_pinned_rows(cluster, cls)) is not None:
            takes = np.intersect1d(takes, pinned)
        if len(takes) == 0:
            return takes
        highest = int(cluster.tasks.priority[members].max())
        closed: set[int] = set()
        gangs, kept = self.reservations.gangs.held, cluster.restarts.jobs
        if self.reservations.held or gangs:
            own = {cluster.tasks.job[row] for row in members.tolist()} if gangs or kept else set()
            names = {(job if job in gangs else "", job if job in kept else "") for job in own}
            kept_off = (
                self.reservations.list_closed_rows(cluster, cls, highest, *each)
                for each in names or {("", "")}
            )
            closed = set.intersection(*kept_off)
        if cluster.restarts.by_uid:
            jobs = {cluster.tasks.job[row] for row in members.tolist()}
            closed |= frozenset.intersection(*(list_kept_rows(cluster, cls, highest, job) for job in jobs))
        return np.setdiff1d(takes, np.array(sorted(closed), dtype=np.int64)) if closed else takes

    def by_evictions(self, rows: Int64, free: Int64, cls: int, members: Int64, ranks: EvictionRanks) -> bool:
        """Return whether one of the machines would take one task after less important tasks have left."""
        cluster = self.cluster
        if cluster.classes.rows[cls].content.never_preempts:
            return False
        rank = int(ranks.importance.rank_preemptors(cluster.tasks, members).max())
        if ranks.lowest >= rank:
            return False
        given, _ = sum_evictable(cluster, ranks.importance, rows, rank)
        some = (given > 0).any(axis=1)
        return bool(len(self.find_feasible(rows[some], (free + given)[some], cls, members)))


def _list_allowed(cluster: Cluster, fitting: dict[int, Int64]) -> list[int]:
    """Return the classes of ``fitting`` that rules allow on a machine that would take them.

    ``fitting``: class row -> machines that would take a task.
    """
    if not fitting:
        return []
    state = RuleState(compile_rules(cluster, list(fitting)))
    allowed = {cls: state.find_allowed(index, at) for index, (cls, at) in enumerate(fitting.items())}
    return [cls for cls, machines in allowed.items() if machines is None or machines.any()]


class QueueingHints:
    """Finds the classes whose tasks may fit on some machine after an event.

    Three things decide: required rules, pairs that a model knows, and models' constraints. When a task with partners
    comes or leaves, another task may meet its limits, or find capacity on a network link. Preferences are left out,
    as they keep no task waiting. Ports are left out too: a port becomes free on a machine that a task has left, and
    such machines are checked anyway.
    """

    def __init__(self, cluster: Cluster, touched: Collection[int], *, domains_changed: bool) -> None:
        """``touched``: rows of the classes whose tasks came or left. ``domains_changed``: as in `DirtySet`."""
        self._cluster = cluster
        self._rows = cluster.classes.rows
        self._selector = cluster.selector()
        ruled = list_ruled(cluster)
        self._touched = frozenset(touched) if any_waits(cluster) else frozenset()
        self._pools = {pool for row in self._touched for pool in list_pools(cluster, self._rows[row].content)}
        self._domains_changed = domains_changed
        self._kind_labels = cluster.needs.kind_labels
        self._partners_moved = bool(self._kind_labels) and any(
            self._is_paired(self._rows[row].content) for row in touched
        )
        speaking = ruled if domains_changed else self._touched
        self._kept_off = {
            selected
            for row in speaking
            for selector in list_excluded_selectors(self._rows[row].content)
            for selected in self._selector.matching(selector).tolist()
        }

    def may_help(self, cls: int) -> bool:
        """Return whether the event may help tasks of class row ``cls``."""
        content = self._rows[cls].content
        if self._pools and not self._pools.isdisjoint(list_pools(self._cluster, content)):
            return True
        if cls in self._kept_off or (self._partners_moved and self._is_paired(content)):
            return True
        watched = list_awaited(content)
        if self._domains_changed:
            return bool(watched) or self._is_paired(content)
        return bool(self._touched) and any(
            not self._touched.isdisjoint(self._selector.matching(selector).tolist()) for selector in watched
        )

    def _is_paired(self, content: TaskClass) -> bool:
        """Return whether a class's tasks may be partners of other tasks in pairs."""
        return any(key in self._kind_labels for key, _ in content.labels)
