"""Tasks found unschedulable wait here for an event that could help: no round is run for them in vain.

A class is woken when a machine that changed (or has more room) would now take one of its tasks; the check is exact for
everything but models' filters and joint rows. A class with rules about other tasks is also woken when one of those has
come to a machine or left one, or when domains change, wherever that is.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.constraints.rules import compile_rules
from firmament.core.diagnosis.preemption_reasons import evictable
from firmament.core.filters.attached_volumes import saved
from firmament.core.filters.node_filters import StaticRows
from firmament.core.filters.pinning import pinned_rows
from firmament.core.queue.importance import Importance
from firmament.core.queue.reservations import Reservations
from firmament.core.requeue.queueing_hints import Concerns
from firmament.core.rules.counters import RuleState
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import State
from firmament.core.state.waiting import unpark


def wake(
    cluster: Cluster,
    static_rows: StaticRows,
    reservations: Reservations,
    placed: frozenset[int] = frozenset(),
) -> bool:
    """Unpark every task that a marked machine could take; returns whether any was woken. The marks stay.

    ``placed``: rows of classes that a round has just placed tasks of. Tasks refused for good sleep on.
    """
    marks = cluster.marks
    touched = marks.touched | placed
    if not (marks.any_machine or marks.domains_changed or touched):
        return False
    tasks = cluster.tasks
    size = len(tasks.uid)
    parked = np.flatnonzero(tasks.parked[:size] & ~tasks.refused[:size])
    if len(parked) == 0:
        return False
    if marks.everywhere:
        unpark(cluster, parked)
        return True
    concerns = Concerns(cluster, touched, domains_changed=marks.domains_changed)
    rows = marks.rows()
    free = cluster.free()[rows]
    woken: list[int] = []
    takers: dict[int, Int64] = {}
    for cls in np.unique(tasks.cls[parked]).tolist():
        if concerns.of(cls):
            woken.append(cls)
            continue
        members = parked[tasks.cls[parked] == cls]
        if len(cluster.promises):
            free = cluster.free(least=int(tasks.priority[members].max()))[rows]
        takes = could_take(cluster, static_rows, reservations, cls, members, rows, free)
        if len(takes):
            takers[cls] = takes
        elif _could_evict(cluster, static_rows, reservations, cls, members, rows, free):
            woken.append(cls)
    woken += _allowed(cluster, takers)
    roused = parked[np.isin(tasks.cls[parked], woken)]
    if marks.domains_changed:
        roused = np.append(roused, _of_ruled_gangs(cluster, parked))
    unpark(cluster, roused)
    return bool(len(roused))


def _of_ruled_gangs(cluster: Cluster, parked: Int64) -> Int64:
    """Those of the tasks in ``parked`` that share out over a tree: labels of machines may have changed it."""
    ruled = cluster.ruled_gangs
    return np.array([row for row in parked.tolist() if cluster.tasks.job[row] in ruled], dtype=np.int64)


def could_take(
    cluster: Cluster,
    static_rows: StaticRows,
    reservations: Reservations,
    cls: int,
    members: Int64,
    rows: Int64,
    free: Int64,
) -> Int64:
    """Those of the machines in ``rows`` (with ``free`` room) that would take a task of the class, rules aside."""
    if len(rows) == 0:
        return rows
    row = cluster.classes.rows[cls]
    request = cluster.request_of(cls)
    less = saved(cluster, row.shape, rows)
    free = free if less is None else free + less
    wanted = np.flatnonzero(request)  # a lack of what is not asked for does not matter
    takes = rows[static_rows.of(row.shape).feasible[rows] & (free[:, wanted] >= request[wanted]).all(axis=1)]
    if len(takes):
        pinned = pinned_rows(cluster, cls)
        if pinned is not None:
            takes = np.intersect1d(takes, pinned)
    if len(takes) == 0:
        return takes
    highest = int(cluster.tasks.priority[members].max())
    closed = reservations.closed_rows(cluster, cls, highest)
    return np.setdiff1d(takes, np.array(sorted(closed), dtype=np.int64)) if closed else takes


def _could_evict(
    cluster: Cluster,
    static_rows: StaticRows,
    reservations: Reservations,
    cls: int,
    members: Int64,
    rows: Int64,
    free: Int64,
) -> bool:
    """Whether one of the machines in ``rows`` would take a task of the class once less important ones are gone."""
    tasks = cluster.tasks
    importance = Importance.of(tasks)
    reach = int(importance.reach_of(tasks, members).max())
    standing = importance.standing_of(tasks, tasks.in_state(State.BOUND))
    if cluster.classes.rows[cls].content.never_preempts or not (standing < reach).any():
        return False
    given, _ = evictable(cluster, importance, rows, reach)
    some = (given > 0).any(axis=1)
    return bool(
        len(could_take(cluster, static_rows, reservations, cls, members, rows[some], (free + given)[some]))
    )


def _allowed(cluster: Cluster, takers: dict[int, Int64]) -> list[int]:
    """Classes of ``takers`` (class row -> machines with a place for it) whose rules leave them one of the machines."""
    rules = compile_rules(cluster, list(takers)) if takers else None
    if rules is None:
        return list(takers)
    state = RuleState(rules)
    return [cls for index, (cls, at) in enumerate(takers.items()) if _any(state, index, at)]


def _any(state: RuleState, index: int, at: Int64) -> bool:
    allowed = state.allowed(index, at)
    return allowed is None or bool(allowed.any())
