"""A round's flow as values: classes, machines, and the tasks that went from one to the other; put together from a
round's snapshot, or from what was saved of it. Of the cluster's state only what classes are called is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.commit.placements import in_delta_order
from firmament.core.flow.problem import COST_UNITS_PER_POINT, Assignments, PlacementProblem
from firmament.core.reasons import Cause, StatedReason
from firmament.core.results import RoundStats
from firmament.core.round_flow.kept_back import Reasons, find_kept_back
from firmament.core.round_flow.rooms import (
    BY_RULES,
    ShapeGate,
    find_saturated,
    gates,
    limit_to_capacity,
    place_prices,
)
from firmament.core.rounds import Placement
from firmament.core.rules.framework.node_rule import MachineRefusal
from firmament.core.scoring.round_assessment import model_points
from firmament.core.snapshot.snapshot import Snapshot
from firmament.core.state.cluster import Cluster


@dataclass(frozen=True, slots=True)
class RoundSummary:
    """A round that is over. ``ended``: seconds since the epoch; ``evictions``: tasks that were told to go."""

    round: int
    ended: float
    stats: RoundStats
    evictions: int


@dataclass(frozen=True, slots=True)
class FlowClass:
    """A class of the round. ``name`` is that of one of its tasks, or its uid, ``job`` the id of its job.

    ``price``: points that the round would have cost less with one of its tasks less; None where the flow had no
    prices. ``requests``: amounts of one task, by resource. ``refusals``: machines by the reason for which they could
    not take one when the round began, ``open``: how many could. ``kept_back``: machines by what kept off those that
    still wait when the round had ended, the reason that matters most first; empty where none waits.
    """

    name: str
    job: str
    namespace: str
    priority: int
    tasks: int
    placed: int
    price: float | None
    requests: tuple[tuple[str, int], ...]
    refusals: tuple[tuple[str, int], ...]
    open: int
    kept_back: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class RoundFlow:
    """C classes, M machines, A arcs with flow, B models.

    ``machine_price``: float64[M], points that one more place on the machine would have saved (0: nobody lacks one);
    ``machine_room``: int64[M], how many more tasks of the round's mean request fit afterwards; ``machine_saturated``:
    bool[M], machines that some waiting task could use and none of them fits any more. ``cls``, ``machine``, ``count``:
    int64[A], so many tasks of a class went to a machine, for ``cost`` points each (float64[A]), of which
    ``model_cost`` (float64[B, A]) says what each of the ``models`` charges. ``uids``: theirs, arc by arc; empty where
    nobody asked for them.
    """

    machines: Sequence[str]
    machine_price: Float64
    machine_room: Int64
    machine_saturated: Bool
    classes: tuple[FlowClass, ...]
    models: tuple[str, ...]
    cls: Int64
    machine: Int64
    count: Int64
    cost: Float64
    model_cost: Float64
    uids: Sequence[str] = ()


_UNKNOWN = ShapeGate((), 0)


@dataclass(frozen=True, slots=True)
class _Met:
    """What shapes met as the round began, and by class what those met that wait at its end."""

    gates: Mapping[int, ShapeGate]
    kept_back: Mapping[int, Reasons]


@dataclass(frozen=True, slots=True)
class ClassWords:
    """How a class is told: see ``FlowClass``."""

    name: str
    job: str = ""
    namespace: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class RoundWords:
    """What the rows of a problem are called."""

    machines: Sequence[str]
    resources: Sequence[str]
    classes: Sequence[ClassWords]


def first_tasks(snapshot: Snapshot) -> list[str]:
    """Uids of the longest waiting task of each class of a snapshot."""
    return [snapshot.uids[place] for place in snapshot.first.tolist()]


def class_words(cluster: Cluster, uids: Sequence[str]) -> list[ClassWords]:
    """How the classes of these tasks are told; of a task that has gone there is nothing but its uid."""
    tasks, classes = cluster.tasks, cluster.classes.rows
    words = []
    for uid in uids:
        row = tasks.row_of.get(uid)
        if row is None:
            words.append(ClassWords(uid))
        else:
            namespace = classes[int(tasks.cls[row])].content.namespace
            name = tasks.name[row] or uid
            words.append(ClassWords(name, tasks.job[row], namespace, int(tasks.priority[row])))
    return words


def snapshot_flow(
    snapshot: Snapshot, placement: Placement, words: Sequence[ClassWords], *, with_tasks: bool
) -> RoundFlow:
    """The flow of a round that was decided on ``snapshot``; ``words``: of each of its classes."""
    problem, assessed = snapshot.problem, snapshot.assessed
    resources = assessed.machines.resources
    placed = _by_class(problem, placement.assignments)
    _, points = model_points(
        assessed, snapshot.configuration.models, problem.shape[placed.cls], placed.machine
    )

    def static(shape: int) -> list[MachineRefusal]:
        by_models = (each.refusals(shape) for each in assessed.assessments)
        told = [
            MachineRefusal(Cause(StatedReason(words)), refused)
            for found in by_models
            for words, refused in found
        ]
        return [*assessed.static[shape].refusals(), *told]

    found = gates(problem, resources, lambda shape: assessed.static[shape].refusals())
    kept = find_kept_back(problem, placed, resources, static)
    uids = _uids(snapshot, placed) if with_tasks else ()
    told = RoundWords(snapshot.machine_names, resources, words)
    held = limit_to_capacity(problem, assessed.machines.capacity)
    return _flow(held, placement, placed, told, _Met(found, kept), points, uids)


def problem_flow(problem: PlacementProblem, placement: Placement, words: RoundWords) -> RoundFlow:
    """The flow of a round of which there is no more than its problem: without what each model charges, and uids."""
    placed = _by_class(problem, placement.assignments)
    found = gates(problem, words.resources)

    def static(shape: int) -> list[MachineRefusal]:
        return [MachineRefusal(Cause(StatedReason(BY_RULES)), ~problem.feasible[shape])]

    kept = find_kept_back(problem, placed, words.resources, static)
    return _flow(problem, placement, placed, words, _Met(found, kept), {}, ())


def _flow(
    problem: PlacementProblem,
    placement: Placement,
    placed: Assignments,
    words: RoundWords,
    met: _Met,
    points: Mapping[str, Float64],
    uids: Sequence[str],
) -> RoundFlow:
    """``placed``: the assignments by class; ``points``: by model, what each costs."""
    prices = place_prices(problem, placement)
    full, room = find_saturated(problem, placed)
    return RoundFlow(
        machines=words.machines,
        machine_price=prices.machine,
        machine_room=room,
        machine_saturated=full,
        classes=_classes(problem, placed, words, met, prices.cls),
        models=tuple(points),
        cls=placed.cls,
        machine=placed.machine,
        count=placed.count,
        cost=problem.cost[problem.shape[placed.cls], placed.machine] / COST_UNITS_PER_POINT,
        model_cost=np.array(list(points.values())).reshape(len(points), len(placed.cls)),
        uids=uids,
    )


def _classes(
    problem: PlacementProblem,
    placed: Assignments,
    words: RoundWords,
    met: _Met,
    prices: Float64,
) -> tuple[FlowClass, ...]:
    columns = (problem.shape, problem.counts.sum(axis=1), placed.count_per_class(problem.classes), prices)
    classes = []
    for number, (told, shape, tasks, there, price) in enumerate(
        zip(words.classes, *(each.tolist() for each in columns), strict=True)
    ):
        gate = met.gates.get(shape, _UNKNOWN)
        amounts = zip(words.resources, problem.requests[shape].tolist(), strict=True)
        classes.append(
            FlowClass(
                name=told.name,
                job=told.job,
                namespace=told.namespace,
                priority=told.priority,
                tasks=tasks,
                placed=there,
                price=None if np.isnan(price) else price,
                requests=tuple((resource, amount) for resource, amount in amounts if amount),
                refusals=gate.refusals,
                open=gate.open,
                kept_back=met.kept_back.get(number, ()),
            )
        )
    return tuple(classes)


def _by_class(problem: PlacementProblem, placed: Assignments) -> Assignments:
    """Assignments of one class after another, each in the order in which its tasks are given to them."""
    placed = in_delta_order(problem, placed)
    order = np.argsort(placed.cls, kind="stable")
    return placed.select(order)


def _uids(snapshot: Snapshot, placed: Assignments) -> list[str]:
    """Uids of the tasks of all entries in turn: of each class the first of its members (``commit.placements``)."""
    taken = placed.count_per_class(len(snapshot.members))
    return [
        uid
        for first, count in zip(snapshot.first.tolist(), taken.tolist(), strict=True)
        for uid in snapshot.uids[first : first + count]
    ]
