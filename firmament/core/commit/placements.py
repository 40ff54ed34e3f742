"""Puts a round's decisions into the cluster's state, checked against what has happened meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Int64
from firmament.core.commit.current_limits import LimitsNow
from firmament.core.commit.dependencies import binding_dependencies, chained, keeps_order
from firmament.core.commit.revalidation import DecidedPlacements, Recheck
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.results import PlacementDeltas
from firmament.core.snapshot.context import RoundContext
from firmament.core.snapshot.snapshot import Snapshot
from firmament.core.state import transitions


def assume_placements(
    context: RoundContext, snapshot: Snapshot, placed: Assignments, limits: LimitsNow | None = None
) -> PlacementDeltas:
    """Turn assignments into deltas, of each class the longest waiting tasks first, and assume them on their machines.

    With rules between tasks, or ledgers that count on it, the deltas keep the order of the assignments, in which each
    is valid when it is made.

    If events arrived since the snapshot was taken, every single placement is checked again (`revalidation`), against
    ``limits`` if models have been asked again. What fails stays pending, and the machine is marked as worth another
    look.
    """
    cluster, decided = context.cluster, _decided(snapshot, placed)
    ordered: Bool = np.zeros(len(decided.cls), dtype=np.bool_)
    if snapshot.problem.ledgers:
        ordered = keeps_order(snapshot, decided.cls, decided.row)
    if cluster.version == snapshot.version:
        transitions.assume(cluster, decided.task, decided.row)
        kept = np.ones(len(decided.task), dtype=np.bool_)
    else:
        kept = Recheck(context, snapshot, decided, ordered, limits).assume()
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
    depends_on: dict[int, tuple[str, ...]] = {}
    if snapshot.problem.rules is not None:
        depends_on = binding_dependencies(
            snapshot.problem.rules, decided.cls[where], decided.row[where], uids
        )
    if ordered.any():
        for place, leader in chained(cluster, decided.task[where], ordered[where], snapshot.came).items():
            depends_on[place] = tuple(dict.fromkeys((*depends_on.get(place, ()), leader)))
    return PlacementDeltas(uids, machines, depends_on)


def _decided(snapshot: Snapshot, placed: Assignments) -> DecidedPlacements:
    """Give the tasks of each class, in their order, to the machines assigned to it, in that of the tree if any."""
    placed = in_delta_order(snapshot.problem, placed)
    cls = np.repeat(placed.cls, placed.count)
    machine = np.repeat(placed.machine, placed.count)
    by_class = np.argsort(cls, kind="stable")
    taken = np.bincount(cls, minlength=len(snapshot.members))
    place = np.empty(len(cls), dtype=np.int64)
    place[by_class] = np.arange(len(cls)) + np.repeat(snapshot.first - (np.cumsum(taken) - taken), taken)
    return DecidedPlacements(
        cls,
        machine,
        snapshot.tasks[place],
        _chosen(snapshot.uids, place),
        _chosen(snapshot.machine_names, machine),
    )


def _chosen(texts: Sequence[str], which: Int64) -> list[str]:
    """The texts in these places. As an array, since texts lie all over memory: one by one, each would be waited for."""
    every: NDArray[np.object_] = np.fromiter(texts, dtype=np.object_, count=len(texts))
    return every[which].tolist()


def in_delta_order(problem: PlacementProblem, placed: Assignments) -> Assignments:
    """Assignments in the order in which the tasks of each class are given to them.

    That is by class, each class's by machine, in that of the tree if any; with rules between tasks, or ledgers, as they
    were made.
    """
    if problem.rules is not None or problem.ledgers:
        return placed
    if problem.topology is None:
        order = np.argsort(placed.cls * np.int64(problem.machines) + placed.machine, kind="stable")
    else:
        order = np.lexsort((placed.machine, problem.topology.position[placed.machine], placed.cls))
    return placed.taken(order)


def decided_rows(members: Sequence[Int64], placed: Assignments) -> Int64:
    """Rows of the tasks that assignments are for: of each class the first of its ``members`` (rows)."""
    if len(placed.cls) == 0:
        return np.zeros(0, dtype=np.int64)
    taken = np.zeros(len(members), dtype=np.int64)
    np.add.at(taken, placed.cls, placed.count)
    return np.concatenate([rows[:count] for rows, count in zip(members, taken.tolist(), strict=True)])
