"""Makes the evictions of a round take effect, after it has checked them against what happened meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.commit.device_allocation import settle_preemptors
from firmament.core.commit.eviction_check import EvictionCheck
from firmament.core.commit.placements import binding_dependencies, keeps_order
from firmament.core.flow.problem import Assignments
from firmament.core.model import ClaimAllocation
from firmament.core.preemption.problem import PreemptionDecision, PreemptionProblem
from firmament.core.ranks import rank
from firmament.core.results import Delta, DeltaKind
from firmament.core.rules.gangs.members import hold_back_decisions
from firmament.core.snapshot.grouping import RoundContext
from firmament.core.snapshot.snapshot import Snapshot
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.pending_evictions import PendingEvictions
from firmament.core.state.tasks import TaskPhase


def evict(
    context: RoundContext,
    snapshot: Snapshot,
    placed: Assignments,
    decided: Sequence[PreemptionDecision],
    now: float,
) -> tuple[list[Delta], Int64]:
    """Return the deltas of evictions: first those of the victims, then those of the tasks that come after them.

    A new task is assumed on its machine at once, together with the victims. Until the victims are gone, the machine
    is overfull and gets no other task. If events arrived since the snapshot was taken, the decisions are checked
    again (``EvictionCheck``). The function also returns the rows of tasks that lost their place by that check; the
    scheduler should try to place them again.
    """
    cluster, preemption = context.cluster, snapshot.preemption
    if preemption is None or not decided:
        return [], np.empty(0, dtype=np.int64)
    preemptors = _list_preemptors(snapshot, placed, decided)
    decided, coming = hold_back_decisions(cluster, preemption, decided, preemptors)
    early, preemptors = preemptors[~coming], preemptors[coming]
    stands = EvictionCheck(context, snapshot, preemption, decided, preemptors).standing()
    # If nothing has changed and all decisions turn out wrong, another round would decide the same.
    anew = stands.any() or cluster.version != snapshot.version
    lost = np.append(early, preemptors[~stands]) if anew else early
    kept = [
        (each, int(preemptor))
        for each, preemptor, keep in zip(decided, preemptors, stands, strict=True)
        if keep
    ]
    for each, keep in zip(decided, stands.tolist(), strict=True):
        if not keep and anew:
            cluster.mark(snapshot.machine_names[each.machine])
    kept, given, unserved = _settle(cluster, snapshot, preemption, kept)
    deltas = _carry_out(cluster, context.evictions, snapshot, preemption, placed, kept)
    if len(preemption.draw) or context.evictions.chains.any:
        _note(context, preemption, kept, now)
    if given:
        deltas = [delta._replace(allocations=given.get(delta.uid, ())) for delta in deltas]
    return deltas, np.append(lost, unserved)


def _note(
    context: RoundContext,
    preemption: PreemptionProblem,
    kept: Sequence[tuple[PreemptionDecision, int]],
    now: float,
) -> None:
    """Record which tasks were evicted for which task.

    A circle needs an eviction for quota, so recording starts in the first round with such an eviction.
    """
    for each, preemptor in kept:
        victims = preemption.row[list(each.evicts)].tolist()
        context.evictions.chains.note(context.cluster, preemptor, victims, now)


def _settle(
    cluster: Cluster,
    snapshot: Snapshot,
    preemption: PreemptionProblem,
    kept: list[tuple[PreemptionDecision, int]],
) -> tuple[list[tuple[PreemptionDecision, int]], dict[str, tuple[ClaimAllocation, ...]], Int64]:
    """Give devices to the incoming tasks.

    Returns the decisions that still hold, the devices of tasks by uid, and the rows of the tasks that got no devices.
    """
    tasks, rows = cluster.tasks, cluster.machines.row_of
    leaving = [
        frozenset(tasks.uid[int(preemption.row[victim])] for victim in {*each.evicts, *each.awaits})
        for each, _ in kept
    ]
    machines = [rows[snapshot.machine_names[each.machine]] for each, _ in kept]
    given = settle_preemptors(cluster, [preemptor for _, preemptor in kept], machines, leaving)
    gangs = {tasks.job[preemptor] for (_, preemptor), each in zip(kept, given, strict=True) if each is None}
    gangs = {job for job in gangs if cluster.jobs.gang(job) is not None}
    held, lost, found = [], [], {}
    for pair, each in zip(kept, given, strict=True):
        preemptor = pair[1]
        if each is None or tasks.job[preemptor] in gangs:
            cluster.devices.withdraw(tasks.uid[preemptor])
            lost.append(preemptor)
        else:
            held.append(pair)
            if each:
                found[tasks.uid[preemptor]] = each
    return held, found, np.array(lost, dtype=np.int64)


def withdraw(cluster: Cluster, evictions: PendingEvictions) -> list[Delta]:
    """Return the deltas that withdraw the evictions on which no task depends any more."""
    return [
        Delta(DeltaKind.PREEMPT, cluster.tasks.uid[task], cluster.where(task), withdrawn=True)
        for task in evictions.take_needless(cluster)
    ]


def still_leaves(cluster: Cluster, delta: Delta) -> bool:
    """Return whether a task that was leaving when the round began must still leave after what happened since."""
    task = cluster.tasks.row_of.get(delta.uid)
    return task is not None and bool(cluster.tasks.leaving[task])


def _list_preemptors(snapshot: Snapshot, placed: Assignments, decided: Sequence[PreemptionDecision]) -> Int64:
    """Return for each eviction decision the task (row) that it is for: int64[N].

    In each class, the tasks for which others are evicted come right after the placed ones.
    """
    next_of = placed.count_per_class(len(snapshot.members))
    preemptors = np.empty(len(decided), dtype=np.int64)
    for index, each in enumerate(decided):
        preemptors[index] = snapshot.members[each.cls][next_of[each.cls]]
        next_of[each.cls] += 1
    return preemptors


def _carry_out(
    cluster: Cluster,
    evictions: PendingEvictions,
    snapshot: Snapshot,
    preemption: PreemptionProblem,
    placed: Assignments,
    kept: Sequence[tuple[PreemptionDecision, int]],
) -> list[Delta]:
    tasks = cluster.tasks
    leads = _dependencies(cluster, snapshot, placed, kept)
    before = _list_predecessors(cluster, snapshot, preemption, kept)
    deltas = []
    coming: list[Delta] = []
    for index, (each, preemptor) in enumerate(kept):
        deltas += [
            Delta(
                DeltaKind.PREEMPT,
                tasks.uid[int(preemption.row[victim])],
                snapshot.machine_names[int(preemption.machine[victim])],
                beyond_budget=victim in each.beyond,
            )
            for victim in each.evicts
        ]
        evictions.record_victims(cluster, (int(preemption.row[victim]) for victim in each.evicts))
        depends_on = tuple(dict.fromkeys((*before[index], *leads.get(index, ()))))
        name = snapshot.machine_names[each.machine]
        coming.append(Delta(DeltaKind.PLACE, tasks.uid[preemptor], name, depends_on=depends_on))
    rows = np.array([cluster.machines.row_of[delta.machine] for delta in coming], dtype=np.int64)
    assumed = np.array([preemptor for _, preemptor in kept], dtype=np.int64)
    transitions.assume(cluster, assumed, rows)
    cls = np.array([each.cls for each, _ in kept], dtype=np.int64)
    machine = np.array([each.machine for each, _ in kept], dtype=np.int64)
    transitions.wait_for_room(cluster, assumed, ordered=keeps_order(snapshot, cls, machine))
    for delta, (_, preemptor) in zip(coming, kept, strict=True):
        evictions.record_waiting(cluster, delta.depends_on, preemptor)
    for members in _gangs(snapshot, kept):
        evictions.record_companions(cluster, [kept[index][1] for index in members])
    return [*deltas, *coming]


def _gangs(snapshot: Snapshot, kept: Sequence[tuple[PreemptionDecision, int]]) -> list[list[int]]:
    """Return the indices of incoming tasks for each gang of which several tasks come."""
    members: dict[int, list[int]] = {}
    if len(snapshot.gangs):
        for index, (each, _) in enumerate(kept):
            members.setdefault(int(snapshot.problem.gang[each.cls]), []).append(index)
    return [indices for gang, indices in members.items() if gang >= 0 and len(indices) > 1]


def _list_predecessors(
    cluster: Cluster,
    snapshot: Snapshot,
    preemption: PreemptionProblem,
    kept: Sequence[tuple[PreemptionDecision, int]],
) -> list[tuple[str, ...]]:
    """Return, for each new task, the uids of the tasks that must be gone before it may come.

    The first member of a gang waits for all victims of the gang, and the other members wait for the first. If one
    victim stays, no member of the gang is therefore bound.
    """
    tasks = cluster.tasks
    awaited = {other for each, _ in kept for other in each.awaits}
    there = {
        other: tasks.uid[int(preemption.row[other])]
        for other in awaited
        if tasks.sequence[preemption.row[other]] == preemption.sequence[other]
        and tasks.state[preemption.row[other]] == TaskPhase.BOUND
    }
    before = [tuple(there[other] for other in each.awaits if other in there) for each, _ in kept]
    for members in _gangs(snapshot, kept):
        everybody = tuple(dict.fromkeys(uid for index in members for uid in before[index]))
        first = members[0]
        for index in members[1:]:
            if len(before[index]) < len(everybody):
                before[index] = (*before[index], tasks.uid[kept[first][1]])
        before[first] = everybody
    return before


def _dependencies(
    cluster: Cluster, snapshot: Snapshot, placed: Assignments, kept: Sequence[tuple[PreemptionDecision, int]]
) -> dict[int, tuple[str, ...]]:
    """Return, by index of a new task, the uids of tasks that must be bound before it.

    The new task must be near the tasks returned.
    """
    problem = snapshot.problem
    if not any(problem.rules.rules(each.cls).attraction is not None for each, _ in kept):
        return {}
    earlier = placed.tasks()
    uids = [snapshot.uids[place] for place in (snapshot.first[earlier.cls] + rank(earlier.cls)).tolist()]
    found = binding_dependencies(
        problem.rules,
        np.append(earlier.cls, [each.cls for each, _ in kept]),
        np.append(earlier.machine, [each.machine for each, _ in kept]),
        [*uids, *(cluster.tasks.uid[preemptor] for _, preemptor in kept)],
    )
    return {index - len(uids): leads for index, leads in found.items() if index >= len(uids)}
