"""Opens a round: takes the picture of the cluster that the round is solved on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cost_models.interface import Bool, Float64, Int64, MachineColumns
from firmament.core.arrivals import arrivals
from firmament.core.asking import worth_keeping
from firmament.core.charging import charges
from firmament.core.cluster import Cluster
from firmament.core.composition import Judgement, crowding_units, judge, machine_columns
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.disturbance import Seen
from firmament.core.evictions import Evictions
from firmament.core.fair_share import share_levels
from firmament.core.feasibility import StaticRows
from firmament.core.gangs import Muster
from firmament.core.kept_rows import Charges, KeptRows
from firmament.core.loads import load, unseen
from firmament.core.pair_compiler import compile_pairs
from firmament.core.pinning import pinned_rows
from firmament.core.queue_sort import PLACED, qualities, ranks
from firmament.core.reservations import Reservations
from firmament.core.residents import residents
from firmament.core.rule_compiler import compile_rules
from firmament.core.stated_heights import stated_heights
from firmament.core.tasks import State
from firmament.core.topology_compiler import Called, Trees, compile_groups, in_natural_order
from firmament.core.victims import preemption_problem
from firmament.flow.group_terms import GroupTerms
from firmament.flow.problem import WAIT_BUCKETS, PlacementProblem
from firmament.flow.worths import Worths
from firmament.preemption.problem import PreemptionProblem
from firmament.rules.pairs import PairRules

_NO_GANGS = np.empty(0, dtype=np.int64)

WAIT_LIMITS = (1.0, 10.0, 60.0)
"""Seconds of waiting at which a task moves on to the next wait bucket."""


@dataclass(frozen=True, slots=True)
class Picture:
    """The problem of a round and what its indices mean.

    ``members[c]`` are the task rows of class c of the problem, longest waiting first, those of groups with rules in the
    order of their names; ``cls[c]`` is its row in the class table; ``uids`` are those of the members, to recognise rows
    that were used anew meanwhile.
    ``preemption``: whom these tasks could evict, None if nobody could evict anybody.
    ``gangs``: jobs of the problem's gangs; ``configuration``: what models were asked. ``version`` and ``came`` tell
    what has happened since: see ``Cluster``; so does ``seen``.
    """

    problem: PlacementProblem
    judgement: Judgement
    members: tuple[Int64, ...]
    uids: tuple[tuple[str, ...], ...]
    cls: Int64
    machine_names: tuple[str, ...]
    version: int
    came: int
    seen: Seen
    configuration: CoreConfiguration
    gangs: tuple[str, ...] = ()
    preemption: PreemptionProblem | None = None


def take_picture(
    cluster: Cluster,
    static_rows: StaticRows,
    kept_rows: KeptRows,
    reservations: Reservations,
    configuration: CoreConfiguration,
    evictions: Evictions,
    trees: Trees,
    muster: Muster,
    now: float,
    recall_worths: Callable[[Sequence[int]], Worths | None],
) -> Picture:
    """Build the placement problem of the tasks that ``muster`` calls.

    ``recall_worths`` says what shapes (rows) were worth in earlier rounds.
    """
    groups, gangs, levels, members = _grouped(cluster, muster, _levels(cluster, configuration, muster))
    cls = np.array([group[0] for group in groups], dtype=np.int64)
    priorities = np.array([group[1] for group in groups], dtype=np.int64)
    shapes, closed, shape_of = _shapes(cluster, reservations, groups)
    counts = _by_wait(members, cluster.tasks.arrived, now)
    per_shape = np.bincount(shape_of, weights=counts.sum(axis=1), minlength=len(shapes)).astype(np.int64)
    columns = model_columns(cluster, configuration, now)
    judgement, charged = _judged(
        cluster, static_rows, kept_rows, columns, shapes, per_shape, configuration.models
    )
    feasible, held, occupied = _open_machines(judgement, closed)
    pairs = compile_pairs(cluster, configuration.pair_models, columns, cls.tolist())
    called = Called(muster.jobs, gangs, members)
    topology = compile_groups(cluster, trees, configuration.group_model, columns, called)
    members = _in_order(cluster, topology, gangs, members)
    problem = PlacementProblem(
        counts=counts,
        priority=ranks(priorities, levels, _qualities(cluster, configuration, cls.tolist(), pairs)),
        shape=shape_of,
        requests=judgement.batch.requests,
        feasible=feasible,
        cost=charged.units,
        crowd=crowding_units(columns, judgement.batch, configuration.models, judgement.assessments),
        heights=stated_heights(judgement, configuration.models),
        free=columns.capacity - cluster.machines.used,
        rotation=configuration.options.seed % max(1, columns.count),
        pins=_pins(cluster, groups),
        joint=judgement.joint(),
        ledgers=judgement.ledgers(),
        openings=judgement.openings(),
        held=held,
        rules=compile_rules(cluster, cls.tolist()),
        pairs=pairs,
        gang=gangs if len(muster.need) else _NO_GANGS,
        gang_need=muster.need,
        topology=topology,
        worths=recall_worths(shapes),
    )
    return Picture(
        problem=problem,
        judgement=judgement,
        members=tuple(members),
        uids=tuple(tuple(map(cluster.tasks.uid.__getitem__, rows.tolist())) for rows in members),
        cls=cls,
        machine_names=tuple(columns.names),
        version=cluster.version,
        came=cluster.last_came,
        seen=Seen.now(cluster, configuration),
        configuration=configuration,
        gangs=muster.jobs,
        preemption=preemption_problem(
            cluster,
            evictions,
            problem,
            cls,
            priorities,
            muster.jobs,
            placed=levels == PLACED,
            occupied=occupied,
        )
        if configuration.options.preemption
        else None,
    )


def _judged(
    cluster: Cluster,
    static_rows: StaticRows,
    kept_rows: KeptRows,
    columns: MachineColumns,
    shapes: Sequence[int],
    counts: Int64,
    models: Sequence[WeightedModel],
) -> tuple[Judgement, Charges]:
    """What rules and models say about ``shapes``, of which ``counts`` tasks wait, and what that comes to.

    Asks only about what has changed since ``kept_rows`` heard of it, and keeps the answers there.
    """
    recall = kept_rows.recall(cluster, columns, shapes, models)
    judgement = judge(cluster, static_rows, columns, shapes, counts.tolist(), models, recall)
    charged = charges(judgement, models, recall)
    kept_rows.keep(recall, worth_keeping(models, judgement.assessments, columns.count), charged)
    return judgement, charged


def _levels(cluster: Cluster, configuration: CoreConfiguration, muster: Muster) -> Int64:
    """int64[N]: level of each called task's claim to a fair share; 0 where shares are not looked at.

    Tasks that have a place already, and may take another one, have the level ``PLACED``.
    """
    levels = np.zeros(len(muster.waiting), dtype=np.int64)
    if configuration.fair_share is not None:
        levels = share_levels(cluster, configuration.fair_share, muster.waiting)
    return np.where(cluster.tasks.state[muster.waiting] == State.ASSUMED, PLACED, levels)


def model_columns(cluster: Cluster, configuration: CoreConfiguration, now: float) -> MachineColumns:
    """Columns of the machines, with what some model asks for alone."""
    return machine_columns(
        cluster,
        now,
        residents(cluster) if configuration.uses_residents else None,
        load(cluster) if configuration.uses_load else None,
        arrivals(cluster, configuration.arrival_kinds),
        unseen=unseen(cluster) if configuration.uses_unseen else None,
    )


def _in_order(
    cluster: Cluster, topology: GroupTerms | None, gangs: Int64, members: list[Int64]
) -> list[Int64]:
    """The members of each group, those of groups that share out over a tree in the order of their names."""
    if topology is None:
        return members
    ruled = np.isin(gangs, list(topology.groups)).tolist()
    return [
        in_natural_order(cluster, rows) if yes else rows for rows, yes in zip(members, ruled, strict=True)
    ]


def _qualities(
    cluster: Cluster, configuration: CoreConfiguration, cls: list[int], pairs: PairRules | None
) -> Int64:
    """int64[C]: which of equal priority come first, by what they depend on; 0 if that is not looked at."""
    if configuration.options.by_quality:
        return qualities(cluster, cls, pairs)
    return np.zeros(len(cls), dtype=np.int64)


def _open_machines(
    judgement: Judgement, closed: Sequence[frozenset[int]]
) -> tuple[Bool, Bool | None, Bool | None]:
    """Which machines are feasible, held and occupied, less those (rows) that are closed to each shape."""
    feasible, held, occupied = judgement.feasible(), judgement.held(), judgement.occupied()
    shut = [(index, sorted(kept_off)) for index, kept_off in enumerate(closed) if kept_off]
    for machines in (feasible, held, occupied):
        if machines is not None:
            for index, rows in shut:
                machines[index, rows] = False
    return feasible, held, occupied


def _by_wait(members: Sequence[Int64], arrived: Float64, now: float) -> Int64:
    """int64[C, WAIT_BUCKETS]: how many of each group's ``members`` (rows of ``arrived``) have waited how long."""
    group = np.repeat(np.arange(len(members)), [len(rows) for rows in members])
    rows = np.concatenate(members) if len(members) else np.empty(0, dtype=np.int64)
    bucket = WAIT_BUCKETS - 1 - np.searchsorted(WAIT_LIMITS, now - arrived[rows], side="right")
    width = len(members) * WAIT_BUCKETS
    counts = np.bincount(group * WAIT_BUCKETS + bucket, minlength=width)
    return counts.reshape(len(members), WAIT_BUCKETS).astype(np.int64)


def _grouped(
    cluster: Cluster, muster: Muster, level: Int64
) -> tuple[list[tuple[int, int]], Int64, Int64, list[Int64]]:
    """Tasks by (class, priority), gang and ``level`` (int64[N]) of their claim to a fair share; in each group by age.

    Returns (class, priority), the gang and the level of each group, and the groups.
    """
    tasks, waiting = cluster.tasks, muster.waiting
    order = np.lexsort(
        (
            tasks.sequence[waiting],
            tasks.created[waiting],
            level,
            muster.gang,
            tasks.priority[waiting],
            tasks.cls[waiting],
        )
    )
    rows = waiting[order]
    keys = np.stack([tasks.cls[rows], tasks.priority[rows], muster.gang[order], level[order]])
    starts = np.flatnonzero(np.r_[True, (keys[:, 1:] != keys[:, :-1]).any(axis=0)])
    members = [rows[begin:end] for begin, end in pairwise([*starts.tolist(), len(rows)])]
    groups = [(int(keys[0, start]), int(keys[1, start])) for start in starts.tolist()]
    return groups, keys[2, starts], keys[3, starts], members


def _shapes(
    cluster: Cluster, reservations: Reservations, groups: list[tuple[int, int]]
) -> tuple[list[int], list[frozenset[int]], Int64]:
    """Rows of the problem's shape arrays: shape, machines closed to it by reservations, and the row of each group.

    While a machine is reserved, a shape may take two rows: of tasks that are kept off it, and of those that are not.
    """
    row_of: dict[tuple[int, frozenset[int]], int] = {}
    shape_of = np.empty(len(groups), dtype=np.int64)
    for index, (cls, priority) in enumerate(groups):
        closed = (
            frozenset(reservations.closed_rows(cluster, cls, priority)) if len(reservations) else frozenset()
        )
        shape_of[index] = row_of.setdefault((cluster.classes.rows[cls].shape, closed), len(row_of))
    return [shape for shape, _ in row_of], [closed for _, closed in row_of], shape_of


def _pins(cluster: Cluster, groups: list[tuple[int, int]]) -> dict[int, Int64]:
    """Allowed machine rows of the groups whose class is pinned."""
    pins: dict[int, Int64] = {}
    for index, (cls, _) in enumerate(groups):
        rows = pinned_rows(cluster, cls)
        if rows is not None:
            pins[index] = rows
    return pins
