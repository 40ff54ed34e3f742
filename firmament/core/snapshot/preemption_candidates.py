"""Collects, when a round opens, the tasks that may be evicted for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cost_models.interface import Bool, Int64, JointRows, Returned
from firmament.core.constraints.ruleset import NO_RULES, RuleSet
from firmament.core.flow.problem import PlacementProblem
from firmament.core.preemption.preemption_policy import may_evict
from firmament.core.preemption.problem import LOWEST_WEIGHT, NO_ORIGINS, PreemptionProblem
from firmament.core.preemption.victims.order import sort_victims
from firmament.core.queue.order import Importance
from firmament.core.rules.registry import compile_rules, list_drawing, number_draws
from firmament.core.snapshot.disruption_budgets import count_allowed_evictions, read_budgets, split_kinds
from firmament.core.snapshot.grouping import PLACED, RoundContext, TaskGroups
from firmament.core.snapshot.model_inputs import on_machines, resident_shapes
from firmament.core.snapshot.victim_gangs import describe_gangs
from firmament.core.state.cluster import Cluster
from firmament.core.state.eviction_chains import EvictionChains
from firmament.core.state.tasks import TaskPhase, TaskTable


def preemption_problem(
    context: RoundContext,
    problem: PlacementProblem,
    groups: TaskGroups,
    importance: Importance,
    jobs: Sequence[str],
    *,
    occupied: Bool | None,
) -> PreemptionProblem | None:
    """Return the tasks that tasks of the problem's classes may evict; None if no task may evict another.

    ``jobs``: the gangs. ``occupied``: bool[S, M], machines that are infeasible only because of what tasks use of
    joint rows; None for none. Tasks that already have a machine evict no others for a better one. Only bound tasks
    that some class may evict by importance take part, never assumed tasks. Tasks that are leaving take part whatever
    their importance, because of the capacity that they free, but only if some less important task is bound.
    """
    cluster = context.cluster
    cls, preemptor_rank = groups.cls, importance.rank_as_preemptor(groups.priority, groups.group_priority)
    may = _find_evicting(cluster, groups)
    if not may.any() or not len(cluster.machines):
        return None
    tasks = cluster.tasks
    claims = may & _find_claiming(problem)
    contested = _is_contested(problem, may)
    sharing = _find_sharing(cluster, contested=contested)
    spared = cluster.machines.beyond_measure
    rows, victim_rank = _find_victims(tasks, importance, int(preemptor_rank[may].max()), spared, sharing)
    if not len(rows):
        return None
    may &= preemptor_rank > victim_rank.min()
    if not (may.any() or claims.any()):
        return None
    known = read_budgets(cluster)
    kinds, kind, counted = split_kinds(tasks, rows, known)
    covered_by, allowed = count_allowed_evictions(cluster, context.evictions, known, kinds, counted)
    of_classes = [jobs[gang] if gang >= 0 else "" for gang in groups.gang.tolist()]
    returning, returns = compute_returned(cluster, problem.joint, rows)
    return PreemptionProblem(
        priority=preemptor_rank,
        may=may,
        machine=tasks.machine[rows],
        victim_priority=victim_rank,
        started=tasks.assigned[rows],
        weight=tasks.priority[rows] + LOWEST_WEIGHT,
        leaving=tasks.leaving[rows],
        kind=kind,
        granted=np.array([bool(each) for each in counted], dtype=np.bool_)[kind],
        requests=cluster.demand_of(kinds)[0],
        budgets=covered_by,
        allowed=allowed,
        row=rows,
        sequence=tasks.sequence[rows],
        rules=_rules(cluster, problem, may, cls, kinds),
        returning=returning,
        returns=returns,
        occupied=occupied if returning else None,
        **describe_gangs(cluster, rows, of_classes),
        **(_quota_fields(cluster, problem, kinds[kind], claims, groups, rows) if contested else {}),
        origins=_find_origins(cluster, context.evictions.chains, groups, rows),
    )


def _find_origins(
    cluster: Cluster, chains: EvictionChains, groups: TaskGroups, rows: Int64
) -> Mapping[int, Mapping[int, Int64]]:
    """Return ``PreemptionProblem.origins``; ``rows``: int64[V], the tasks on machines."""
    if not chains.any:
        return NO_ORIGINS
    size = len(cluster.tasks.uid)
    waiting, present = np.full(size, -1, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    waiting[groups.tasks] = np.arange(len(groups.tasks))
    present[rows] = np.arange(len(rows))
    found: dict[int, dict[int, Int64]] = {}
    for workload in chains.list_evicted():
        own = waiting[np.array(chains.list_tasks(cluster, workload), dtype=np.int64)]
        own = own[own >= 0]
        if not len(own):
            continue
        origins = chains.find_origins(cluster, workload)
        began = [row for origin in origins for row in chains.list_tasks(cluster, origin)]
        victims = present[np.array(began, dtype=np.int64)]
        victims = np.sort(victims[victims >= 0])
        if len(victims):
            for each in own.tolist():
                cls = int(np.searchsorted(groups.first, each, side="right")) - 1
                found.setdefault(cls, {})[each - int(groups.first[cls])] = victims
    return found


def _find_evicting(cluster: Cluster, groups: TaskGroups) -> Bool:
    """Return the classes whose tasks may evict others: bool[C]."""
    contents = (cluster.classes.rows[row].content for row in groups.cls.tolist())
    may = np.array([may_evict(each) for each in contents], dtype=np.bool_)
    may &= groups.level != PLACED
    return may


def _find_claiming(problem: PlacementProblem) -> Bool:
    """Return the classes whose queues let them evict tasks to get quota: bool[C]."""
    quotas = problem.quotas
    if quotas is None:
        return np.zeros(problem.classes, dtype=np.bool_)
    node = quotas.find_nodes(problem.shape)
    able = (quotas.within > 0) | (quotas.reclaim > 0) | quotas.borrows
    return (node >= 0) & np.append(able, False)[node]


def _is_contested(problem: PlacementProblem, may: Bool) -> bool:
    """Return whether a class that may evict uses a quota tree in which any queue may evict to get quota.

    A class in a contested tree must not take what queues of the tree would take back, even if it never evicts to get
    quota itself.
    """
    quotas = problem.quotas
    if quotas is None:
        return False
    node = quotas.find_nodes(problem.shape)[may]
    return bool(quotas.find_contested()[node[node >= 0]].any())


def _find_sharing(cluster: Cluster, *, contested: bool) -> Bool:
    """Return which tasks use quotas: bool[N]; all False unless tasks may be evicted for quota."""
    tasks = cluster.tasks
    size = len(tasks.uid)
    if not contested:
        return np.zeros(size, dtype=np.bool_)
    drawing = np.zeros(len(cluster.classes.rows), dtype=np.bool_)
    drawing[list_drawing(cluster)] = True
    return drawing[tasks.cls[:size]]


def _quota_fields(
    cluster: Cluster,
    problem: PlacementProblem,
    classes: Int64,
    claims: Bool,
    groups: TaskGroups,
    rows: Int64,
) -> dict[str, Any]:
    """Return those fields of a preemption problem that concern quotas.

    ``classes``: int64[V], the class row of each task. ``rows``: int64[V], the tasks.
    """
    assert problem.quotas is not None
    present, place = np.unique(classes, return_inverse=True)
    every = np.append(rows, groups.tasks[groups.first])
    tasks = cluster.tasks
    age = np.empty(len(every), dtype=np.int64)
    age[tasks.sort_by_age(every)] = np.arange(len(every))
    return {
        "draw": number_draws(cluster, problem.quotas, present.tolist())[place],
        "reclaims": claims,
        "since": age[len(rows) :],
        "age": age[: len(rows)],
    }


def _find_victims(
    tasks: TaskTable, importance: Importance, above: int, spared: Int64, sharing: Bool
) -> tuple[Int64, Int64]:
    """Return the tasks that take part in preemption (rows), and their ranks as victims.

    The tasks are bound ones that rank below ``above``, leaving ones, and tasks ``sharing`` quotas. ``sharing``:
    bool[N]; these tasks take part however important they are.

    Tasks on the machines ``spared`` (int64) are left out, as these machines stay full whoever leaves. The result is
    sorted by ``sort_victims``. The result is empty if no bound task is less important.
    """
    size = len(tasks.uid)
    bound = (tasks.state[:size] == TaskPhase.BOUND) & (tasks.machine[:size] >= 0)
    if len(spared):
        bound &= ~np.isin(tasks.machine[:size], spared)
    rank = importance.rank_as_victim(tasks.priority[:size], tasks.group_priority[:size])
    less_important = bound & ((rank < above) | sharing)
    if not less_important.any():
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    rows = np.flatnonzero(less_important | (bound & tasks.leaving[:size]))
    rows = sort_victims(rows, tasks.machine[rows], rank[rows], tasks.assigned[rows])
    return rows, rank[rows]


def _rules(cluster: Cluster, problem: PlacementProblem, may: Bool, cls: Int64, kinds: Int64) -> RuleSet:
    """Return rules over the problem's classes and the victims' kinds, if they constrain a class that may evict."""
    if not any(problem.rules.rules(index).binding for index in np.flatnonzero(may).tolist()):
        return NO_RULES
    together: Sequence[int] = [*cls.tolist(), *kinds.tolist()]
    return compile_rules(cluster, together)


def compute_returned(
    cluster: Cluster, joint: Sequence[JointRows], rows: Int64
) -> tuple[tuple[int, ...], Int64]:
    """Return the joint rows that get something back when tasks leave.

    The result is the numbers of the rows, and how much each task gives back: int64[V, J]. ``rows``: int64[V], the
    tasks, all on machines. The cluster must be in the state that models were shown.
    """
    found = [
        (number, _amounts(cluster, block.returned, rows))
        for number, block in enumerate(joint)
        if block.returned is not None and not block.shared
    ]
    if not found:
        return (), np.zeros((len(rows), 0), dtype=np.int64)
    return tuple(number for number, _ in found), np.stack([amounts for _, amounts in found], axis=1)


def _amounts(cluster: Cluster, given: Returned, rows: Int64) -> Int64:
    """Return how much each task gives back when it leaves: int64[V]."""
    if given.by_kind is not None:
        shape_of = np.array([cluster.classes.rows[cls].shape for cls in cluster.tasks.cls[rows].tolist()])
        kinds: Int64 = np.searchsorted(resident_shapes(cluster), shape_of.astype(np.int64))
        return given.by_kind[kinds]
    if given.by_task is not None:
        return given.by_task.amounts(np.searchsorted(on_machines(cluster), rows).astype(np.int64))
    return np.zeros(len(rows), dtype=np.int64)
