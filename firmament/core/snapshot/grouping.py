"""Groups the tasks of a round, and ranks the groups; tasks of a group are equal in all that the round considers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.configuration import CoreConfiguration
from firmament.core.constraints.pairs import PairRules
from firmament.core.filters.static_rows import StaticRows
from firmament.core.flow.problem import WAIT_BUCKETS
from firmament.core.queue.fair_shares import share_levels
from firmament.core.queue.order import Importance
from firmament.core.queue.reservations import Reservations
from firmament.core.queue.restart_room import list_kept_rows
from firmament.core.rules.gangs.lifecycle import AdmittedTasks
from firmament.core.rules.tree_groups.compilation import MachineTrees
from firmament.core.scoring.kept_rows import KeptRows
from firmament.core.state.cluster import Cluster
from firmament.core.state.pending_evictions import PendingEvictions
from firmament.core.state.tasks import UNGROUPED, TaskPhase


@dataclass(frozen=True, slots=True)
class RoundContext:
    """The state with which a round begins."""

    cluster: Cluster
    """The cluster."""
    static_rows: StaticRows
    """The answers of the cluster's filters."""
    configuration: CoreConfiguration
    """The configuration of rounds."""
    reservations: Reservations
    """The reservations of machines."""
    evictions: PendingEvictions
    """The evictions under way."""
    trees: MachineTrees
    """The trees of machines."""
    kept_rows: KeptRows | None
    """Rows over machines that are cached between rounds; None: nothing is cached."""


WAIT_LIMITS = (1.0, 10.0, 60.0)
"""Seconds of waiting at which a task moves on to the next wait bucket."""

_QUALITY: Mapping[str, int] = MappingProxyType({"Guaranteed": 2, "Burstable": 1, "BestEffort": 0})

_UNKNOWN = 1

PLACED = -1
"""Level of tasks that already have a machine: they come after all other tasks of their priority."""


@dataclass(frozen=True, slots=True)
class TaskGroups:
    """The tasks of a round by class, priority, group priority, gang, fair-share level, and spread group: C groups."""

    members: tuple[Int64, ...]
    """Task rows of each group, oldest first."""
    tasks: Int64
    """int64[N], task rows of all groups, one group after another."""
    first: Int64
    """int64[C], the index in ``tasks`` at which each group begins."""
    cls: Int64
    """int64[C], the class of each group."""
    priority: Int64
    """int64[C], the priority of each group."""
    group_priority: Int64
    """int64[C], the priority that the PodGroup of each group's tasks states."""
    gang: Int64
    """int64[C], the gang of each group."""
    level: Int64
    """int64[C], whether each group's tasks are within their namespace's fair share (see ``share_levels``)."""
    spread: Int64
    """int64[C], the spread group: tasks that prefer to run apart."""
    counts: Int64
    """int64[C, WAIT_BUCKETS], the number of tasks by how long they have waited."""
    shapes: Sequence[int]
    """Rows of the round's shapes in the shape table."""
    closed: Sequence[frozenset[int]]
    """The machines that reservations, and capacity kept for restarts, close to tasks of each of ``shapes``."""
    shape: Int64
    """int64[C], the index of each group in ``shapes`` and ``closed``."""

    def waiting(self) -> Int64:
        """Return how many tasks of each shape are to be placed: int64[S]."""
        tasks = np.bincount(self.shape, weights=self.counts.sum(axis=1), minlength=len(self.shapes))
        return tasks.astype(np.int64)

    def rank_groups(self, cluster: Cluster, pairs: PairRules, *, by_quality: bool) -> Int64:
        """Return the rank of each group by importance, fair share and quality of service: int64[C], 0 last.

        ``by_quality``: whether the quality of service counts.
        """
        importance, quality = self.priority, np.zeros(len(self.cls), dtype=np.int64)
        if (self.group_priority != UNGROUPED).any():
            importance = Importance.from_tasks(cluster.tasks).rank_waiting(self.priority, self.group_priority)
        if by_quality:
            quality = _qualities(cluster, self.cls.tolist(), pairs)
        return rank_classes(importance, self.level, quality)


def group_admitted(context: RoundContext, admitted: AdmittedTasks, now: float) -> TaskGroups:
    """Return the groups of the ``admitted`` tasks."""
    cluster, configuration = context.cluster, context.configuration
    apart = groups_apart(context, admitted.waiting)
    tasks, first, keys = _group(
        cluster,
        admitted,
        _find_levels(cluster, configuration, admitted),
        apart,
    )
    cls, priority, group_priority, gang, level, spread = keys
    members = tuple(tasks[begin:end] for begin, end in pairwise([*first.tolist(), len(tasks)]))
    jobs = [admitted.jobs[number] if number >= 0 else "" for number in gang.tolist()]
    names = [cluster.tasks.job[int(each[0])] for each in members] if cluster.restarts.by_uid else jobs
    shapes, closed, shape = _number_shapes(
        cluster, context.reservations, list(zip(cls.tolist(), priority.tolist(), strict=True)), jobs, names
    )
    counts = _count_by_wait(first, now - cluster.tasks.arrived[tasks])
    return TaskGroups(
        members,
        tasks,
        first,
        cls,
        priority,
        group_priority,
        gang,
        level,
        spread,
        counts,
        shapes,
        closed,
        shape,
    )


def _count_by_wait(first: Int64, waited: Float64) -> Int64:
    """Return how many tasks of each group have waited how long: int64[C, WAIT_BUCKETS].

    ``waited``: float64[N], seconds that each task has waited, group by group. ``first``: the index of each group's
    first task.
    """
    group = np.repeat(np.arange(len(first)), np.diff(first, append=len(waited)))
    bucket = WAIT_BUCKETS - 1 - np.searchsorted(WAIT_LIMITS, waited, side="right")
    counts = np.bincount(group * WAIT_BUCKETS + bucket, minlength=len(first) * WAIT_BUCKETS)
    return counts.reshape(len(first), WAIT_BUCKETS).astype(np.int64)


def groups_apart(context: RoundContext, rows: Int64) -> Int64:
    """Return the spread group of each of the tasks ``rows``: int64[N]; 0 for none."""
    if context.configuration.spread:
        return context.cluster.tasks.spread[rows]
    return np.zeros(len(rows), dtype=np.int64)


def rank_classes(order: Int64, levels: Int64, quality: Int64) -> Int64:
    """Return ranks, int64[C], 0 for the last.

    Classes are compared by order, then level (-1 to 2), then quality (0 to 2), each int64[C].
    """
    return np.unique(12 * order + 3 * levels + quality, return_inverse=True)[1].astype(np.int64)


def _qualities(cluster: Cluster, classes: Sequence[int], pairs: PairRules) -> Int64:
    """Return the ranks of the QoS classes of ``classes`` (rows of the class table): int64[C].

    Tasks of an application stay together, whatever their quality: the order of their workloads decides among them
    (TopologicalSort of kubernetes-sigs/scheduler-plugins).
    """
    table = cluster.classes.rows
    found = np.array([_QUALITY.get(table[row].content.qos, _UNKNOWN) for row in classes], dtype=np.int64)
    found[pairs.find_paired(len(found))] = _UNKNOWN
    return found


def _find_levels(cluster: Cluster, configuration: CoreConfiguration, admitted: AdmittedTasks) -> Int64:
    """Return the fair-share level of each admitted task: int64[N]; 0 if fair shares are not used.

    Tasks that already have a machine, and may take another one, have the level ``PLACED``.
    """
    levels = np.zeros(len(admitted.waiting), dtype=np.int64)
    if configuration.fair_share is not None:
        levels = share_levels(cluster, configuration.fair_share, admitted.waiting)
    return np.where(cluster.tasks.state[admitted.waiting] == TaskPhase.ASSUMED, PLACED, levels)


def _group(
    cluster: Cluster, admitted: AdmittedTasks, level: Int64, spread: Int64
) -> tuple[Int64, Int64, Int64]:
    """Return tasks grouped by class, priority, gang, ``level`` and ``spread`` (int64[N] each), oldest first.

    The result is the tasks' rows, group after group; the index at which each group begins; and int64[6, C]: class,
    priority, group priority, gang, level and spread of each group.
    """
    tasks, waiting = cluster.tasks, admitted.waiting
    group_priority = tasks.group_priority[waiting]
    by = [spread, level, admitted.gang, *([group_priority] if (group_priority != UNGROUPED).any() else [])]
    order = tasks.sort_by_age(waiting, *by, tasks.priority[waiting], tasks.cls[waiting])
    rows = waiting[order]
    keys = np.stack(
        [
            tasks.cls[rows],
            tasks.priority[rows],
            group_priority[order],
            admitted.gang[order],
            level[order],
            spread[order],
        ]
    )
    starts = np.flatnonzero(np.r_[True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)])
    return rows, starts, keys.take(starts, axis=1)


def _number_shapes(
    cluster: Cluster,
    reservations: Reservations,
    groups: list[tuple[int, int]],
    jobs: list[str],
    names: list[str],
) -> tuple[list[int], list[frozenset[int]], Int64]:
    """Return the problem's shapes, the machines that reservations close to each, and the index of each group's shape.

    While machines are reserved, a shape may occur twice: for tasks that may not use these machines, and for tasks
    that may. ``jobs``: the gang of each group, "" for none. ``names``: the job of each group, if capacity is kept for
    some job. If capacity is kept for the job of some tasks, all tasks of the round are in this job, as no other job
    takes part in the round.
    """
    rows = cluster.classes.rows
    none: frozenset[int] = frozenset()
    wanted = [(rows[cls].shape, none) for cls, _ in groups]
    if reservations.held or reservations.gangs.held or cluster.restarts.by_uid:
        closed = [
            frozenset(reservations.list_closed_rows(cluster, cls, priority, job, name))
            for (cls, priority), job, name in zip(groups, jobs, names, strict=True)
        ]
        if cluster.restarts.by_uid:
            closed = [
                rows | list_kept_rows(cluster, cls, priority, name)
                for rows, (cls, priority), name in zip(closed, groups, names, strict=True)
            ]
        wanted = [(shape, machines) for (shape, _), machines in zip(wanted, closed, strict=True)]
    distinct = list(dict.fromkeys(wanted))
    row_of = {each: row for row, each in enumerate(distinct)}
    shape_of = np.array(list(map(row_of.__getitem__, wanted)), dtype=np.int64)
    return [shape for shape, _ in distinct], [machines for _, machines in distinct], shape_of
