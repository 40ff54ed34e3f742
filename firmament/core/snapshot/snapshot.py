"""Opens a round: takes the snapshot of the cluster on which the round works."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.firmament_policies.scarce_resources import scarce_columns
from cost_models.interface import (
    Bool,
    EvictableLedger,
    Int64,
    Ledger,
    MachineColumns,
    Needs,
    RoomAfterEviction,
)
from firmament.core.configuration import CoreConfiguration
from firmament.core.constraints.default_spread import NO_SPREAD
from firmament.core.constraints.pairs import NO_PAIRS
from firmament.core.flow.heights_and_prices import DualPrices
from firmament.core.flow.problem import PlacementProblem
from firmament.core.model import Machine
from firmament.core.placement.gang_room import RoomSearch
from firmament.core.preemption.problem import PreemptionProblem
from firmament.core.queue.lasting_use import lasting_use, longest_run
from firmament.core.queue.order import Importance
from firmament.core.record_kinds import DEVICE_RECORDS
from firmament.core.rules.default_spread import compile_spread
from firmament.core.rules.devices.columns import show_devices
from firmament.core.rules.framework.limit_rule import RoundDemand
from firmament.core.rules.gangs.lifecycle import AdmittedTasks
from firmament.core.rules.node_name import list_pinned_rows
from firmament.core.rules.pairs import compile_pairs
from firmament.core.rules.registry import (
    compile_rules,
    find_quotas,
    keep_ledgers,
    limit_amounts,
)
from firmament.core.rules.tree_groups.compilation import TriedGangs, compile_groups, sort_by_natural_name
from firmament.core.scoring.arc_costs import collect_heights, compute_charges
from firmament.core.scoring.kept_rows import Charges
from firmament.core.scoring.round_assessment import (
    RoundAssessment,
    assess_shapes,
    crowding_units,
    worth_keeping,
)
from firmament.core.snapshot.grouping import RoundContext, TaskGroups, group_admitted
from firmament.core.snapshot.model_inputs import (
    collect_load,
    compute_unseen_use,
    count_residents,
    list_arrivals,
)
from firmament.core.snapshot.pod_sets import pin_started_pod_sets
from firmament.core.snapshot.preemption_candidates import preemption_problem
from firmament.core.state.cluster import NO_NEEDS, Cluster
from firmament.core.tree_solver.groups import NO_GROUPS

_NO_GANGS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The problem of a round, with the tasks and machines for which its indices stand."""

    problem: PlacementProblem
    """The placement problem."""
    assessed: RoundAssessment
    """The answers of rules and models."""
    members: tuple[Int64, ...]
    """Task rows of each class of the problem, longest waiting first; in groups with tree rules, by name."""
    tasks: Int64
    """int64[T], the members of all classes, one class after another."""
    first: Int64
    """int64[C], the index in ``tasks`` at which each class begins."""
    uids: Sequence[str]
    """UIDs of the ``tasks``, which show whether a row has been reused for another task."""
    examples: Sequence[str]
    """The name of the first task of each class."""
    cls: Int64
    """int64[C], the row of each class in the class table."""
    machine_names: tuple[str, ...]
    """Names of the machines."""
    version: int
    """Version of the cluster, which shows later changes; see ``Cluster``."""
    arrival_number: int
    """Number of arrivals so far, which shows later arrivals."""
    described: tuple[Machine, ...]
    """The machines as the driver describes them."""
    changes: Mapping[str, int]
    """By kind, how often records that concern no single machine had changed; only kinds that models read."""
    removals: Mapping[str, int]
    """By kind, how often a machine's record had been removed."""
    configuration: CoreConfiguration
    """The configuration with which models were asked."""
    importance: Importance | None = None
    """The scale of importance; None without preemption."""
    gangs: tuple[str, ...] = ()
    """The jobs of the problem's gangs."""
    preemption: PreemptionProblem | None = None
    """The tasks that may be evicted; None if no task may be."""
    room: RoomSearch | None = None
    """The search for machines to reserve for gangs; None if no gang needs a reservation."""


def take_snapshot(
    context: RoundContext,
    admitted: AdmittedTasks,
    now: float,
    recall_prices: Callable[[Sequence[int]], DualPrices | None] | None,
) -> Snapshot:
    """Return the snapshot for placing the ``admitted`` tasks.

    ``recall_prices`` returns prices of shapes (rows) in earlier rounds; it is None if there are no such prices.
    """
    cluster, configuration = context.cluster, context.configuration
    groups = group_admitted(context, admitted, now)
    columns = model_columns(cluster, now, configuration.needs)
    assessed, charged = _assess(context, columns, groups)
    dual_prices = None if recall_prices is None else recall_prices(groups.shapes)
    problem, occupied = _problem(context, admitted, groups, assessed, charged, dual_prices)
    members = _sort_members(cluster, problem, groups)
    tasks = groups.tasks if members is groups.members else np.concatenate(members)
    importance, preemption = None, None
    if configuration.options.preemption and cluster.machines.running.any():
        importance = Importance.from_tasks(cluster.tasks)
        preemption = preemption_problem(
            context, problem, groups, importance, admitted.jobs, occupied=occupied
        )
    needs, records = configuration.needs, cluster.records
    beside = {*needs.arrivals, *DEVICE_RECORDS}
    return Snapshot(
        problem=problem,
        assessed=assessed,
        members=members,
        tasks=tasks,
        first=groups.first,
        uids=list(map(cluster.tasks.uid.__getitem__, tasks.tolist())),
        examples=[cluster.tasks.name[row] or cluster.tasks.uid[row] for row in tasks[groups.first].tolist()],
        cls=groups.cls,
        machine_names=tuple(columns.names),
        version=cluster.version,
        arrival_number=cluster.last_arrival_number,
        described=tuple(cluster.machines.specs),
        changes={kind: records.changes[kind] for kind in needs.records if kind not in beside},
        removals={kind: records.removals[kind] for kind in needs.arrivals},
        configuration=configuration,
        importance=importance,
        gangs=admitted.jobs,
        preemption=preemption,
        room=_room_search(context, admitted, groups, now, assessed, problem),
    )


def _room_search(
    context: RoundContext,
    admitted: AdmittedTasks,
    groups: TaskGroups,
    now: float,
    assessed: RoundAssessment,
    problem: PlacementProblem,
) -> RoomSearch | None:
    """Return the gangs that need a reservation, and what machines will have free later.

    "Later" means: when all tasks expected to end have ended.
    """
    gang_reservations = context.reservations.gangs
    due = gang_reservations.due
    gangs = tuple([number for number, job in enumerate(admitted.jobs) if job in due]) if due else ()
    if not gangs:
        return None
    cluster = context.cluster
    in_the_end = cluster.machines.capacity - lasting_use(cluster)
    promised = cluster.sum_promised_beside(groups.tasks)
    in_the_end = in_the_end if promised is None else in_the_end - promised
    kept: Bool | None = None
    rows = gang_reservations.list_rows(cluster)
    if len(rows):
        kept = np.zeros_like(problem.feasible)
        kept[:, rows] = assessed.feasible()[:, rows] & ~problem.feasible[:, rows]
    return RoomSearch(gangs, in_the_end, longest_run(cluster, now), kept)


def _problem(
    context: RoundContext,
    admitted: AdmittedTasks,
    groups: TaskGroups,
    assessed: RoundAssessment,
    charged: Charges,
    dual_prices: DualPrices | None,
) -> tuple[PlacementProblem, Bool | None]:
    """Return the placement problem of ``groups``, and bool[S, M]: machines occupied for their shapes."""
    cluster, configuration = context.cluster, context.configuration
    columns, cls = assessed.machines, groups.cls.tolist()
    feasible, held, occupied = _open_machines(assessed, groups.closed)
    pairs, topology, spread = NO_PAIRS, NO_GROUPS, NO_SPREAD
    if configuration.pair_models:
        pairs = compile_pairs(cluster, configuration.pair_models, columns, cls)
    if admitted.jobs and (configuration.group_model is not None or cluster.jobs.has_trees):
        called = TriedGangs(admitted.jobs, groups.gang, groups.members)
        topology = compile_groups(cluster, context.trees, configuration.group_model, columns, called)
    if groups.spread.any():
        tasks = groups.counts.sum(axis=1)
        spread = compile_spread(cluster, configuration.spread, groups.spread, tasks, feasible, groups.shape)
    demand = RoundDemand(groups.shapes, groups.waiting(), assessed.batch.requests)
    free, limited = limit_amounts(cluster, demand, cluster.free_beside(groups.tasks))
    kept = keep_ledgers(cluster, demand)
    problem = PlacementProblem(
        counts=groups.counts,
        priority=groups.rank_groups(cluster, pairs, by_quality=configuration.options.by_quality),
        shape=groups.shape,
        requests=assessed.batch.requests,
        feasible=feasible,
        cost=charged.units,
        crowd=crowding_units(columns, assessed.batch, configuration.models, assessed.assessments),
        heights=collect_heights(assessed, configuration.models),
        free=free,
        rotation=configuration.options.seed % max(1, columns.count),
        pins=_pins(cluster, cls),
        joint=(*assessed.joint(), *limited),
        quotas=find_quotas(cluster, demand),
        ledgers=(*assessed.ledgers(), *kept),
        rooms_after_eviction=(*assessed.rooms_after_eviction(), *map(_get_room_after_eviction, kept)),
        held=held,
        rules=compile_rules(cluster, cls),
        spread=spread,
        pairs=pairs,
        gang=groups.gang if len(admitted.need) else _NO_GANGS,
        gang_need=admitted.need,
        topology=topology,
        dual_prices=dual_prices,
    )
    if problem.quotas is not None:
        problem = pin_started_pod_sets(cluster, problem, groups, admitted.jobs)
    return problem, occupied


def _get_room_after_eviction(ledger: Ledger) -> RoomAfterEviction | None:
    return ledger.room_after_eviction if isinstance(ledger, EvictableLedger) else None


def _assess(
    context: RoundContext, columns: MachineColumns, groups: TaskGroups
) -> tuple[RoundAssessment, Charges]:
    """Return what rules and models say about the shapes of ``groups``, and the resulting costs.

    The function asks only about what has changed since ``kept_rows`` were stored, and adds the new answers to them.
    """
    cluster, kept_rows, models = context.cluster, context.kept_rows, context.configuration.models
    recall = None
    if kept_rows is not None and (columns.count >= kept_rows.least_machines or kept_rows.generations):
        recall = kept_rows.recall(cluster, columns, groups.shapes, models)
    waiting = groups.waiting().tolist()
    assessed = assess_shapes(cluster, context.static_rows, columns, groups.shapes, waiting, models, recall)
    charged = compute_charges(assessed, models, recall)
    if kept_rows is not None and recall is not None:
        kept_rows.keep(recall, worth_keeping(models, assessed.assessments, columns.count), charged)
    return assessed, charged


def model_columns(
    cluster: Cluster, now: float, needs: Needs = NO_NEEDS, *, without: int = -1
) -> MachineColumns:
    """Return a copy of the machines' columns as models see them, with those additional facts for which ``needs`` asks.

    ``without``: row of a task that counts as absent.
    """
    machines = cluster.machines
    capacity, running, unstated = machines.capacity.copy(), machines.running.copy(), machines.unstated.copy()
    if without >= 0 and cluster.tasks.machine[without] >= 0:
        own, shape = cluster.tasks.machine[without], cluster.classes.rows[cluster.tasks.cls[without]].shape
        assumed = cluster.requests.get(shape)[1]
        running[own] -= 1
        unstated[own, : len(assumed)] -= assumed
    described, reported = machines.describe(), machines.samples.last_change > 0
    left_out = frozenset((cluster.tasks.uid[without],)) if without >= 0 else frozenset[str]()
    return MachineColumns(
        names=described.names,
        resources=tuple(cluster.resources.names),
        capacity=capacity,
        free=np.maximum(capacity - cluster.sum_requests(without), 0),
        running=running,
        labels=described.labels,
        annotations=described.annotations,
        usage=machines.usage,
        usage_time=machines.usage_time,
        records=cluster.records.payloads,
        now=now,
        residents=count_residents(cluster, without=without) if needs.residents else None,
        load=collect_load(cluster, without=without) if needs.load else None,
        arrivals=list_arrivals(cluster, needs.arrivals, without=without) if needs.arrivals else None,
        unseen=compute_unseen_use(cluster, without=without) if reported and needs.unseen else None,
        unstated=unstated if unstated.any() else None,
        scarce=scarce_columns(cluster.resources.names, capacity),
        devices=show_devices(cluster, needs.devices, left_out) if needs.devices else None,
    )


def _sort_members(cluster: Cluster, problem: PlacementProblem, groups: TaskGroups) -> tuple[Int64, ...]:
    """Return the members of each group; tasks of groups over a tree are sorted by name."""
    ruled = problem.find_grouped()
    if not ruled.any():
        return groups.members
    return tuple(
        sort_by_natural_name(cluster, rows) if yes else rows
        for rows, yes in zip(groups.members, ruled.tolist(), strict=True)
    )


def _open_machines(
    assessed: RoundAssessment, closed: Sequence[frozenset[int]]
) -> tuple[Bool, Bool | None, Bool | None]:
    """Return feasible, held and occupied machines (bool[S, M] or None) without those ``closed`` to each shape."""
    feasible, held, occupied = assessed.feasible(), assessed.find_held(), assessed.find_occupied()
    shut = [(index, sorted(kept_off)) for index, kept_off in enumerate(closed) if kept_off]
    if shut:
        feasible = feasible.copy()
    for machines in (feasible, held, occupied):
        if machines is not None:
            for index, rows in shut:
                machines[index, rows] = False
    return feasible, held, occupied


def _pins(cluster: Cluster, classes: Sequence[int]) -> dict[int, Int64]:
    """Return the allowed machine rows of groups whose class is pinned; ``classes``: class of each group."""
    known = cluster.classes.rows
    rows = ((index, list_pinned_rows(cluster, cls)) for index, cls in enumerate(classes) if known[cls].pinned)
    return {index: pinned for index, pinned in rows if pinned is not None}
