"""Collects, when a round opens, the tasks that may be evicted for others, and the disruption budgets of these tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cost_models.interface import Bool, Int64, JointRows, Returned
from firmament.core.constraints.ruleset import NO_RULES, RuleSet
from firmament.core.flow.problem import PlacementProblem
from firmament.core.model import Requirement, TaskSelector
from firmament.core.preemption.problem import LOWEST_WEIGHT, NO_ORIGINS, PreemptionProblem
from firmament.core.queue.importance import Importance
from firmament.core.record_kinds import BUDGET_RECORD
from firmament.core.rules.registry import compile_rules, list_drawing, number_draws
from firmament.core.snapshot.grouping import PLACED, RoundContext, TaskGroups
from firmament.core.snapshot.model_inputs import on_machines, resident_shapes
from firmament.core.snapshot.victim_gangs import describe_gangs
from firmament.core.state.cluster import Cluster
from firmament.core.state.eviction_chains import EvictionChains
from firmament.core.state.pending_evictions import PendingEvictions
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
    cls, reach = groups.cls, importance.reach(groups.priority, groups.group_priority)
    may = _find_evicting(cluster, groups)
    if not may.any() or not len(cluster.machines):
        return None
    tasks = cluster.tasks
    claims = may & _find_claiming(problem)
    contested = _is_contested(problem, may)
    sharing = _find_sharing(cluster, contested=contested)
    spared = cluster.machines.beyond_measure
    rows, standing = _taking_part(tasks, importance, int(reach[may].max()), spared, sharing)
    if not len(rows):
        return None
    may &= reach > standing.min()
    if not (may.any() or claims.any()):
        return None
    known = read_budgets(cluster)
    kinds, kind, counted = _split_kinds(tasks, rows, known)
    covered_by, allowed = _budgets(cluster, context.evictions, known, kinds, counted)
    of_classes = [jobs[gang] if gang >= 0 else "" for gang in groups.gang.tolist()]
    returning, returns = compute_returned(cluster, problem.joint, rows)
    return PreemptionProblem(
        priority=reach,
        may=may,
        machine=tasks.machine[rows],
        victim_priority=standing,
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
    may = np.array([not each.never_preempts and not each.invalid for each in contents], dtype=np.bool_)
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
    age[np.lexsort((tasks.sequence[every], tasks.created[every]))] = np.arange(len(every))
    return {
        "draw": number_draws(cluster, problem.quotas, present.tolist())[place],
        "reclaims": claims,
        "since": age[len(rows) :],
        "age": age[: len(rows)],
    }


def _taking_part(
    tasks: TaskTable, importance: Importance, above: int, spared: Int64, sharing: Bool
) -> tuple[Int64, Int64]:
    """Return rows and standings of the tasks that take part in preemption.

    The tasks are bound ones that rank below ``above``, leaving ones, and tasks ``sharing`` quotas. ``sharing``:
    bool[N]; these tasks take part however important they are.

    Tasks on the machines ``spared`` (int64) are left out, as these machines stay full whoever leaves. The result is
    sorted by machine, then standing, then latest start. The result is empty if no bound task is less important.
    """
    size = len(tasks.uid)
    bound = (tasks.state[:size] == TaskPhase.BOUND) & (tasks.machine[:size] >= 0)
    if len(spared):
        bound &= ~np.isin(tasks.machine[:size], spared)
    standing = importance.standing(tasks.priority[:size], tasks.group_priority[:size])
    less_important = bound & ((standing < above) | sharing)
    if not less_important.any():
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    rows = np.flatnonzero(less_important | (bound & tasks.leaving[:size]))
    rows = rows[np.lexsort((rows, -tasks.assigned[rows], standing[rows], tasks.machine[rows]))]
    return rows, standing[rows]


def _split_kinds(
    tasks: TaskTable, rows: Int64, known: Mapping[str, Budget]
) -> tuple[Int64, Int64, list[frozenset[str]]]:
    """Return the kinds of the tasks in ``rows``; a kind has tasks of one class that the same budgets count as gone.

    The result has three parts: int64[H], the class row of each kind; int64[V], the kind of each task; and for each
    kind, the budgets (names of ``known``) that have already counted the disruption of its tasks.
    """
    classes, found = np.unique(tasks.cls[rows], return_inverse=True)
    kind = found.astype(np.int64)
    counted: list[frozenset[str]] = [frozenset()] * len(classes)
    counts: dict[str, list[str]] = {}
    for name, budget in known.items():
        for task in budget.disrupted:
            counts.setdefault(task, []).append(name)
    if not counts:
        return classes, kind, counted
    kinds = classes.tolist()
    place_of: dict[tuple[int, frozenset[str]], int] = {}
    for place, row in enumerate(rows.tolist()):
        if tasks.name[row] in counts:
            key = int(kind[place]), frozenset(counts[tasks.name[row]])
            if key not in place_of:
                place_of[key] = len(kinds)
                kinds.append(kinds[key[0]])
                counted.append(key[1])
            kind[place] = place_of[key]
    return np.array(kinds, dtype=np.int64), kind, counted


def _budgets(
    cluster: Cluster,
    evictions: PendingEvictions,
    known: Mapping[str, Budget],
    kinds: Int64,
    counted: Sequence[frozenset[str]],
) -> tuple[tuple[tuple[int, ...], ...], Int64]:
    """Return, for each of ``kinds`` (class rows), the budgets that evictions use, and what each budget still allows.

    ``counted``: the budgets that have counted the tasks of each kind as gone. A budget's record does not contain the
    evictions since it came, so the function subtracts these.
    """
    covered: list[list[int]] = [[] for _ in range(len(kinds))]
    places_of: dict[int, list[int]] = {}
    for place, row in enumerate(kinds.tolist()):
        places_of.setdefault(row, []).append(place)
    allowed: list[int] = []
    for name, budget in known.items():
        matching = cluster.selector().matching(budget.selector)
        for row in matching.tolist():
            for place in places_of.get(row, ()):
                if name not in counted[place]:
                    covered[place].append(len(allowed))
        pending = evictions.count_since_record(cluster, name, frozenset(matching.tolist()), budget.disrupted)
        allowed.append(max(0, budget.allowed - pending))
    return tuple(tuple(each) for each in covered), np.array(allowed, dtype=np.int64)


def _rules(cluster: Cluster, problem: PlacementProblem, may: Bool, cls: Int64, kinds: Int64) -> RuleSet:
    """Return rules over the problem's classes and the victims' kinds, if they constrain a class that may evict."""
    if not any(problem.rules.rules(index).binding for index in np.flatnonzero(may).tolist()):
        return NO_RULES
    together: Sequence[int] = [*cls.tolist(), *kinds.tolist()]
    return compile_rules(cluster, together)


MOST_ALLOWED = 2**31 - 1
"""Upper bound of a budget's allowance, which Kubernetes counts in 32 bits."""


@dataclass(frozen=True, slots=True)
class Budget:
    """A disruption budget.

    ``allowed`` tasks that ``selector`` matches may be disrupted, besides those in ``disrupted``.
    """

    selector: TaskSelector
    allowed: int
    disrupted: frozenset[str] = frozenset()


def read_budgets(cluster: Cluster) -> dict[str, Budget]:
    """Return the disruption budgets of a cluster by name of their records; a malformed budget covers no task."""
    return {
        name: _parse(payload)
        for name, payload in sorted(cluster.records.payloads.get(BUDGET_RECORD, {}).items())
    }


def _parse(payload: bytes) -> Budget:
    """Return the budget in a record's payload, see ``BUDGET_RECORD``.

    If the payload is malformed, the budget selects nothing.
    """
    try:
        content = json.loads(payload)
        if not isinstance(content, Mapping):
            return Budget(TaskSelector(nothing=True), 0)
        selector = content.get("selector")
        return Budget(
            selector=TaskSelector(
                labels=tuple(_requirement(each) for each in selector or ()),
                nothing=selector is None,
                namespaces=(str(content.get("namespace", "")),),
            ),
            allowed=min(max(0, int(content.get("allowed", 0))), MOST_ALLOWED),
            disrupted=_names(content.get("disrupted")),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return Budget(TaskSelector(nothing=True), 0)


def _names(listed: object) -> frozenset[str]:
    if listed is None:
        return frozenset()
    if not isinstance(listed, list):
        raise TypeError("disrupted")
    return frozenset(str(each) for each in listed)


def _requirement(entry: Mapping[str, object]) -> Requirement:
    values = entry.get("values") or ()
    if not isinstance(values, (list, tuple)):
        raise TypeError("values")
    return Requirement(str(entry["key"]), str(entry["operator"]), tuple(str(each) for each in values))


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
