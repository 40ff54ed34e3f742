"""Says why tasks of a round stay pending, and which tasks took places that they could have had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.board.board import Board
from firmament.core.constraints.counters import RuleState
from firmament.core.diagnosis.contention import Contention
from firmament.core.diagnosis.failed_scheduling_message import (
    explain_too_few_places,
    format_unavailable_nodes,
    introduce_gang,
)
from firmament.core.diagnosis.gang_constraints import GangConstraints
from firmament.core.diagnosis.preemption_reasons import PreemptionReasons, explain_origins
from firmament.core.diagnosis.restart_room import add_kept, refuse_kept_room
from firmament.core.filters.root_causes import RootCauses
from firmament.core.filters.static_rows import StaticRow, verdict
from firmament.core.flow.problem import Assignments
from firmament.core.model import TaskClass
from firmament.core.reasons import AnyReason, Cause, Reason, StatedReason, by_limit
from firmament.core.results import Unscheduled
from firmament.core.rules.framework.node_rule import MachineRefusal
from firmament.core.rules.registry import compile_rules
from firmament.core.rules.task_amounts import add_spared
from firmament.core.rules.tree_groups.explanation import find_outside, introduce_group
from firmament.core.snapshot.grouping import RoundContext
from firmament.core.snapshot.snapshot import Snapshot
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase
from firmament.core.state.waiting import set_message

MOST_KINDS = 100
"""Most classes without gangs for which a round finds reasons, as that takes longer than placing a class."""


def pending_reasons(
    context: RoundContext, snapshot: Snapshot, placed: Assignments, shortages: Mapping[int, str]
) -> tuple[Int64, list[Unscheduled]]:
    """Return rows of the round's tasks that stay pending, and the messages that have changed.

    If too many classes have found no place, the last ones are left out: the next round tries them again.
    ``shortages``: by gang, why a group with rules found no place. Reasons describe the machines after the round's
    placements. If a task had a place when the round began, its message also says which tasks took the place. If
    events during the round have opened a machine to a class, the class gets no message, because the next round tries
    it again.
    """
    cluster, tasks = context.cluster, context.cluster.tasks
    if not context.configuration.options.tells_why:
        return snapshot.tasks[_find_still_pending(cluster, snapshot)], []
    pending = _still_pending(cluster, snapshot)
    if not pending:
        return np.empty(0, dtype=np.int64), []
    highest = int(tasks.priority[snapshot.tasks].max())
    free = add_kept(cluster, snapshot.tasks, highest, cluster.free_beside(snapshot.tasks))
    by_models = _ModelRefusals.from_round(cluster, snapshot, placed)
    state = RuleState(compile_rules(cluster, snapshot.cls.tolist()))
    contention = Contention(cluster, snapshot, placed)
    preemption, static = PreemptionReasons(cluster), _StaticRefusals(context)

    def content_of(index: int) -> TaskClass:
        return cluster.classes.rows[int(snapshot.cls[index])].content

    constraints = GangConstraints(
        snapshot.problem, placed, cluster.resources.names, content_of, snapshot.gangs
    )
    apart, changed = dict[int, str](), list[Unscheduled]()
    for index, rows in pending.items():
        left = add_spared(cluster, cluster.classes.rows[int(snapshot.cls[index])].shape, free)
        causes = _root_causes(context, snapshot, index, left, by_models, state, static)
        counts, closed = causes.counts(), int(causes.find_refused().sum())
        content = content_of(index)
        open_now = closed < len(cluster.machines)
        short = shortages.get(int(snapshot.problem.gang[index]), "") if shortages else ""
        if open_now and not short and not content.invalid and cluster.version != snapshot.version:
            continue
        why = f"{short}." if short else ""
        together = _gang_prefix(cluster, snapshot, index)
        if together and open_now and not short:
            gang = int(snapshot.problem.gang[index])
            if gang not in apart:
                apart[gang] = constraints.describe_lack(gang) if cluster.version == snapshot.version else ""
            counts.append((explain_too_few_places(apart[gang]), len(cluster.machines) - closed))
        if counts or not short:
            listed = format_unavailable_nodes(len(cluster.machines), counts, causes.find_of_task())
            why = f"{why} {listed}".lstrip()
        message = content.invalid or (
            together + why + preemption.explain(int(snapshot.cls[index]), int(rows[0]), causes)
        )
        message += explain_origins(cluster, snapshot, index)
        updated = [row for row in rows.tolist() if tasks.message[row] != message]
        set_message(cluster, updated, message)
        if updated:
            message += contention.explain(index, updated)
            changed.append(Unscheduled(tuple(tasks.uid[row] for row in updated), message, tuple(counts)))
    return np.concatenate(list(pending.values())), changed


def _gang_prefix(cluster: Cluster, snapshot: Snapshot, index: int) -> str:
    """Return the first part of the message for a member of a gang that was tried as a whole."""
    gang = int(snapshot.problem.gang[index]) if len(snapshot.gangs) else -1
    if gang < 0:
        return ""
    if words := introduce_group(snapshot.problem, gang):
        return words
    job = cluster.jobs.gang(snapshot.gangs[gang])
    name = snapshot.gangs[gang] if job is None else job.name or job.id
    return introduce_gang(name, int(snapshot.problem.gang_need[gang]))


def _still_pending(cluster: Cluster, snapshot: Snapshot) -> dict[int, Int64]:
    """Return the members of each class of the snapshot that are still pending, and have not been replaced or changed.

    The result leaves out classes without such members.
    """
    then, left = snapshot.tasks, _find_still_pending(cluster, snapshot)
    cls = np.searchsorted(snapshot.first, left, side="right") - 1
    concerned, starts = np.unique(cls, return_index=True)
    if not len(left):
        return {}
    found = zip(concerned.tolist(), np.split(then[left], starts[1:]), strict=True)
    if len(concerned) <= MOST_KINDS:
        return dict(found)
    alone = np.ones(len(concerned), dtype=np.bool_)
    if len(snapshot.gangs):
        alone = snapshot.problem.gang[concerned] < 0
    kept = ~alone | (np.cumsum(alone) <= MOST_KINDS)
    return {cls: rows for (cls, rows), each in zip(found, kept.tolist(), strict=True) if each}


def _find_still_pending(cluster: Cluster, snapshot: Snapshot) -> Int64:
    """Return the indices of the snapshot's tasks that are pending and have not been replaced or changed since."""
    tasks, then = cluster.tasks, snapshot.tasks
    return np.flatnonzero((tasks.state[then] == int(TaskPhase.PENDING)) & ~tasks.revised[then])


def _root_causes(
    context: RoundContext,
    snapshot: Snapshot,
    index: int,
    free: Int64,
    by_models: _ModelRefusals,
    state: RuleState,
    known: _StaticRefusals,
) -> RootCauses:
    """Return what refuses machines to a class: kube-scheduler's filters in its order, models, groups, reservations."""
    cluster = context.cluster
    cls, shape = int(snapshot.cls[index]), int(snapshot.problem.shape[index])
    found: list[MachineRefusal] = []
    occupied = by_models.find_occupied(shape)
    for words, refused in by_models.filters(shape):
        found.append(MachineRefusal(Cause(StatedReason(words)), refused & ~occupied))
        found.append(MachineRefusal(Cause(by_limit(words)), refused & occupied))
    by_others = [*by_models.outside(index), *by_models.limits(index)]
    first, gangs = int(snapshot.members[index][0]), snapshot.problem.gang
    job = snapshot.gangs[int(gangs[index])] if len(gangs) and gangs[index] >= 0 else ""
    closed = context.reservations.list_closed_rows(
        cluster, cls, int(cluster.tasks.priority[first]), job, cluster.tasks.job[first]
    )
    if cluster.restarts.by_uid:
        found += refuse_kept_room(cluster, snapshot.members[index].tolist(), cluster.tasks.job[first], free)
    if closed:
        refused = np.zeros(len(cluster.machines), dtype=np.bool_)
        refused[sorted(closed)] = True
        by_others.append((Reason.RESERVED, refused))
    found += [MachineRefusal(Cause(reason), refused) for reason, refused in by_others]
    static, refusals = known.get(cluster.classes.rows[cls].shape)
    return verdict(cluster, cls, static, free, state, index, found, refusals)


class _StaticRefusals:
    """What rules about machines refuse to a shape, with equal refusals merged; cached for shapes with the same row."""

    def __init__(self, context: RoundContext) -> None:
        self._context = context
        self._row: StaticRow | None = None
        self._found: tuple[StaticRow, list[MachineRefusal]] | None = None

    def get(self, shape: int) -> tuple[StaticRow, list[MachineRefusal]]:
        """Return the row of a shape with equal refusals merged, and its refusals."""
        row = self._context.static_rows.get(shape)
        if self._found is None or self._row is not row:
            merged = row.merge_alike()
            self._row, self._found = row, (merged, merged.refusals())
        return self._found


@dataclass(frozen=True, slots=True)
class _ModelRefusals:
    """The refusals of a snapshot's machines by models, translated to the machines that exist now.

    ``rows``: int64[M], for each of the snapshot's machines its present row, -1 if it is gone; None if no row has
    changed. ``board``: models' limits and pairs of tasks after the round's placements.
    """

    snapshot: Snapshot
    machines: int
    rows: Int64 | None
    board: Board

    @classmethod
    def from_round(cls, cluster: Cluster, snapshot: Snapshot, placed: Assignments) -> _ModelRefusals:
        rows = None
        if cluster.version != snapshot.version:
            known = cluster.machines.row_of
            rows = np.array([known.get(name, -1) for name in snapshot.machine_names], dtype=np.int64)
        problem = snapshot.problem
        board = Board(problem)
        board.residual.book(problem.shape[placed.cls], placed.machine, placed.count)
        board.count_pairs(placed)
        return cls(snapshot, len(cluster.machines), rows, board)

    def filters(self, shape: int) -> list[tuple[str, Bool]]:
        """Return, for each model that filters, its reason and the present machines that it refuses to a shape: bool[M].

        The round saw the machines of its snapshot.
        """
        return [
            (reason, self._now(refused))
            for assessment in self.snapshot.assessed.assessments
            for reason, refused in assessment.refusals(shape)
        ]

    def find_occupied(self, shape: int) -> Bool:
        """Return which present machines are refused only because of what tasks have taken of joint rows: bool[M]."""
        preemption = self.snapshot.preemption
        if preemption is None or preemption.occupied is None:
            return np.zeros(self.machines, dtype=np.bool_)
        return self._now(preemption.occupied[shape])

    def outside(self, index: int) -> list[tuple[AnyReason, Bool]]:
        """Return the present machines outside the tree over which a class's group is distributed, bool[M]."""
        found = find_outside(self.snapshot.problem, index)
        return [(reason, self._now(refused)) for reason, refused in found]

    def limits(self, index: int) -> list[tuple[AnyReason, Bool]]:
        """Return, by reason, which present machines limits and pairs refuse to one more task: bool[M]."""
        return [(reason, self._now(refused)) for reason, refused in self.board.limit_refusals(index)]

    def _now(self, refused: Bool) -> Bool:
        if self.rows is None:
            return refused
        now = np.zeros(self.machines, dtype=np.bool_)
        now[self.rows[refused & (self.rows >= 0)]] = True
        return now
