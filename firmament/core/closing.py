"""Puts a round's decisions into the cluster's state, checked against what has happened meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.chaining import chained, disturbed, keeps_order
from firmament.core.cluster import Cluster
from firmament.core.feasibility import StaticRows
from firmament.core.gang_members import lacking as lacking_members
from firmament.core.leaning import leaders
from firmament.core.opening import Picture
from firmament.core.pair_closing import pairs_now
from firmament.core.results import Placements
from firmament.core.rule_compiler import compile_rules
from firmament.core.tasks import State
from firmament.flow.problem import Assignments
from firmament.rules.state import RuleState


def assume_placements(
    cluster: Cluster, static_rows: StaticRows, picture: Picture, placed: Assignments
) -> Placements:
    """Turn assignments into deltas, of each class the longest waiting tasks first, and assume them on their machines.

    With rules between tasks, or ledgers that count on it, the deltas keep the order of the assignments, in which each
    is valid when it is made.

    If events arrived since the picture was taken, every single placement is checked again: the task must still wait
    and be of the same class, the machine still be there, allowed, and have room, and the rules hold; and where a ledger
    counts on the order, nothing else may have come to the machine. What fails stays pending, and the machine is marked
    as worth another look.
    """
    decided = _decided(picture, placed)
    ordered = keeps_order(picture, decided.cls, decided.row)
    if cluster.version == picture.version:
        cluster.assume_all(decided.task, decided.row)
        kept = np.ones(len(decided.task), dtype=np.bool_)
    else:
        kept = _assume_whole(cluster, static_rows, picture, decided, ordered)
        for index in np.flatnonzero(~kept).tolist():
            cluster.mark(decided.machine[index])  # what was kept free for the task may suit another
    where = np.flatnonzero(kept)
    if ordered.any():
        cluster.number_arrivals(decided.task[where])
        for index in np.flatnonzero(ordered & kept).tolist():
            # What comes first may move what comes later: a task that did not fit before may fit after it.
            cluster.mark(decided.machine[index])
    uids, machines = decided.uid, decided.machine
    if not kept.all():
        uids = list(compress(uids, kept.tolist()))
        machines = list(compress(machines, kept.tolist()))
    leans = leaders(picture.problem, decided.cls[where], decided.row[where], uids)
    for place, leader in chained(cluster, decided.task[where], ordered[where], picture.came).items():
        leans[place] = tuple(dict.fromkeys((*leans.get(place, ()), leader)))
    return Placements(uids, machines, leans)


@dataclass(frozen=True, slots=True)
class _Decided:
    """Placements of a picture, one task each: class and machine row of the problem, its task row and uid then, and
    the machine's name.
    """

    cls: Int64
    row: Int64
    task: Int64
    uid: list[str]
    machine: list[str]


def _decided(picture: Picture, placed: Assignments) -> _Decided:
    """Give the tasks of each class, in their order, to the machines assigned to it, in that of the tree if any."""
    if picture.problem.rules is None and not picture.problem.ledgers:
        terms = picture.problem.topology
        position = placed.machine if terms is None else terms.position[placed.machine]
        order = np.lexsort((placed.machine, position, placed.cls))
        placed = Assignments(placed.cls[order], placed.machine[order], placed.count[order])
    cls = np.repeat(placed.cls, placed.count)
    machine = np.repeat(placed.machine, placed.count)
    by_class = np.argsort(cls, kind="stable")
    taken = np.bincount(cls, minlength=len(picture.members)) if len(cls) else np.zeros(0, np.int64)
    task = np.empty(len(cls), dtype=np.int64)
    task[by_class] = np.concatenate(
        [rows[:count] for rows, count in zip(picture.members, taken.tolist(), strict=False)]
        or [np.empty(0, dtype=np.int64)]
    )
    in_class_order = [
        uid for uids, count in zip(picture.uids, taken.tolist(), strict=False) for uid in uids[:count]
    ]
    turn = np.empty(len(cls), dtype=np.int64)
    turn[by_class] = np.arange(len(cls))
    uids = list(map(in_class_order.__getitem__, turn.tolist()))
    return _Decided(cls, machine, task, uids, list(map(picture.machine_names.__getitem__, machine.tolist())))


def decided_rows(members: Sequence[Int64], placed: Assignments) -> Int64:
    """Rows of the tasks that assignments are for: of each class the first of its ``members`` (rows)."""
    if len(placed.cls) == 0:
        return np.zeros(0, dtype=np.int64)
    taken = np.zeros(len(members), dtype=np.int64)
    np.add.at(taken, placed.cls, placed.count)
    return np.concatenate([rows[:count] for rows, count in zip(members, taken.tolist(), strict=True)])


def _assume_whole(
    cluster: Cluster, static_rows: StaticRows, picture: Picture, decided: _Decided, ordered: Bool
) -> Bool:
    """Assume the placements that are still possible, of gangs all that they need or none; returns which, bool[N].

    Gangs, and what they need, are taken as they are now. Groups with rules must need just what was decided for them.
    """
    gang, need, exact = _gangs_now(cluster, picture, decided)
    given_up = np.zeros(len(need), dtype=np.bool_)
    while True:
        wanted = ~np.append(given_up, False)[gang]
        kept = _assume_possible(cluster, static_rows, picture, decided, ordered, wanted)
        members = gang[kept & (gang >= 0)]
        found = np.bincount(members, minlength=len(given_up))
        broken = (found < need) | (exact & (found != need))
        broken &= np.isin(np.arange(len(given_up)), members)
        if not broken.any():
            return kept
        given_up |= broken
        for task in decided.task[kept].tolist():
            cluster.vacate(task)
            cluster.tasks.state[task] = State.PENDING


def _gangs_now(cluster: Cluster, picture: Picture, decided: _Decided) -> tuple[Int64, Int64, Bool]:
    """int64[N]: the gang of each decided task, -1 for none; int64[G]: members that each gang lacks; bool[G]: it was
    placed by rules.
    """
    tasks, jobs = cluster.tasks, cluster.jobs
    gang = np.full(len(decided.task), -1, dtype=np.int64)
    number: dict[str, int] = {}
    if jobs.any_gang:
        for index, (task, uid) in enumerate(zip(decided.task.tolist(), decided.uid, strict=True)):
            job = tasks.job[task]
            if tasks.uid[task] == uid and jobs.gang(job) is not None:
                gang[index] = number.setdefault(job, len(number))
    need = [lacking_members(cluster, job) for name in number if (job := jobs.gang(name)) is not None]
    terms = picture.problem.topology
    ruled = {picture.gangs[each] for each in terms.groups} if terms is not None else set()
    return gang, np.array(need, dtype=np.int64), np.array([name in ruled for name in number], dtype=np.bool_)


def _assume_possible(
    cluster: Cluster,
    static_rows: StaticRows,
    picture: Picture,
    decided: _Decided,
    ordered: Bool,
    wanted: Bool,
) -> Bool:
    """Assume the placements that are still possible, of those in ``wanted`` (bool[N]); returns which they are, bool[N].

    Machines on which all of them still have room are dealt with at once; where they do not, the first in order stay.
    """
    machine = np.array([cluster.machines.row_of.get(name, -1) for name in decided.machine], dtype=np.int64)
    possible = wanted & _allowed(cluster, static_rows, picture, decided, machine)
    if ordered.any():
        counted_on = [decided.machine[index] for index in np.flatnonzero(ordered).tolist()]
        moved = disturbed(cluster, picture, counted_on)
        possible &= ~ordered | np.array([name not in moved for name in decided.machine], dtype=np.bool_)
    rows = np.flatnonzero(possible)
    shapes = [cluster.classes.rows[cls].shape for cls in picture.cls.tolist()]
    requests = cluster.request_rows(shapes)[decided.cls[rows]]
    wanted = np.zeros_like(cluster.machines.capacity)
    np.add.at(wanted, machine[rows], requests)
    free = cluster.machines.capacity - cluster.machines.used
    overfull = np.zeros(len(cluster.machines), dtype=np.bool_)
    overfull[np.nonzero((wanted > 0) & (wanted > free))[0]] = True
    rules = compile_rules(cluster, picture.cls.tolist())
    state = None if rules is None else RuleState(rules)
    bound = np.zeros(len(picture.cls), dtype=np.bool_)
    bound[list(rules.of) if rules is not None else []] = True
    pairs = pairs_now(cluster, picture)
    if pairs is not None:
        bound |= pairs.rules.kind >= 0
    single = overfull[machine[rows]] | bound[decided.cls[rows]]
    cluster.assume_all(decided.task[rows[~single]], machine[rows[~single]])
    for row, request in zip(rows[single].tolist(), requests[single], strict=True):
        at, cls = int(machine[row]), int(decided.cls[row])
        left = cluster.machines.capacity[at] - cluster.machines.used[at]
        possible[row] = bool((request <= left)[request > 0].all()) and (
            state is None or state.allows(cls, at)
        )
        possible[row] = possible[row] and (pairs is None or pairs.take(cls, at))
        if possible[row]:
            cluster.assume_all(decided.task[row : row + 1], machine[row : row + 1])
            if state is not None:
                state.add(cls, at)
    return possible


def _allowed(
    cluster: Cluster, static_rows: StaticRows, picture: Picture, decided: _Decided, machine: Int64
) -> Bool:
    """bool[N]: the task still waits and is what it was, its machine (row, -1: gone) is there and open to it."""
    tasks = cluster.tasks
    row = picture.cls[decided.cls]
    same = [tasks.uid[task] == uid for task, uid in zip(decided.task.tolist(), decided.uid, strict=True)]
    waits = (tasks.state[decided.task] == State.PENDING) & (tasks.cls[decided.task] == row)
    allowed: Bool = np.array(same, dtype=np.bool_) & waits & (machine >= 0)
    for cls in np.unique(row).tolist():
        members = np.flatnonzero(allowed & (row == cls))
        open_to = static_rows.of(cluster.classes.rows[cls].shape).feasible
        allowed[members] = open_to[machine[members]]
    return allowed
