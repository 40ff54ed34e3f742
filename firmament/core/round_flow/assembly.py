"""Assembles a round's flow for people: classes, machines, and the tasks that went from classes to machines.

The data comes from a round's snapshot, or from what was saved of it. Only the names of classes come from the cluster's
state.
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
from firmament.core.round_flow.refusals_and_prices import (
    BY_RULES,
    ShapeGate,
    find_gates,
    find_saturated,
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
    """A finished round; ``ended``: seconds since the epoch; ``evictions``: number of tasks that were evicted."""

    round: int
    ended: float
    stats: RoundStats
    evictions: int


@dataclass(frozen=True, slots=True)
class FlowClass:
    """A class in the flow of a round, described for people."""

    name: str
    """Name of one of the class's tasks; the task's uid if its name is not known."""
    job: str
    """Id of its job."""
    namespace: str
    """Namespace of the class's tasks."""
    priority: int
    """Priority of the class's tasks."""
    tasks: int
    """Number of the class's tasks that took part in the round."""
    placed: int
    """Number of its tasks that the round placed."""
    price: float | None
    """How many points less the round would have cost if one task of the class fewer had waited.

    None if the flow had no prices.
    """
    requests: tuple[tuple[str, int], ...]
    """Amount that one task requests, by resource."""
    refusals: tuple[tuple[str, int], ...]
    """Number of machines that refused a task when the round began, by reason."""
    open: int
    """Number of machines that refused no task of the class when the round began."""
    kept_back: tuple[tuple[str, int], ...] = ()
    """Number of machines by the reason why they refuse waiting tasks after the round, most important reason first.
    Empty if no task of the class waits.
    """


@dataclass(frozen=True, slots=True)
class RoundFlow:
    """The flow of a round over C classes, M machines, A arcs that carry tasks, and B cost models."""

    machines: Sequence[str]
    """Names of the machines."""
    machine_price: Float64
    """float64[M], points that one more place on the machine would have saved."""
    machine_room: Int64
    """int64[M], how many more tasks of the round's mean request fit on each machine after the round."""
    machine_saturated: Bool
    """bool[M], machines that some waiting task could use, but on which none of these tasks fits."""
    classes: tuple[FlowClass, ...]
    """The classes that took part in the round."""
    models: tuple[str, ...]
    """Names of the cost models."""
    cls: Int64
    """int64[A], class of each arc that carries tasks."""
    machine: Int64
    """int64[A], machine of each arc."""
    count: Int64
    """int64[A], number of tasks on each arc."""
    cost: Float64
    """float64[A], points that each task on the arc costs."""
    model_cost: Float64
    """float64[B, A], each model's part of ``cost``."""
    uids: Sequence[str] = ()
    """Uids of the tasks, arc by arc; empty if they were not requested."""


_UNKNOWN = ShapeGate((), 0)


@dataclass(frozen=True, slots=True)
class _Met:
    """The reasons that refused shapes when the round began, and that kept each class's tasks waiting at its end."""

    gates: Mapping[int, ShapeGate]
    kept_back: Mapping[int, Reasons]


@dataclass(frozen=True, slots=True)
class ClassWords:
    """The names of a class for people; see ``FlowClass``."""

    name: str
    job: str = ""
    namespace: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class RoundWords:
    """The names for people of a problem's rows: machines, resources and classes."""

    machines: Sequence[str]
    resources: Sequence[str]
    classes: Sequence[ClassWords]


def first_tasks(snapshot: Snapshot) -> list[str]:
    """Return the uid of the longest waiting task of each class of a snapshot."""
    return [snapshot.uids[place] for place in snapshot.first.tolist()]


def class_words(cluster: Cluster, uids: Sequence[str]) -> list[ClassWords]:
    """Return the names of these tasks' classes; a task that is gone is named by its uid."""
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
    """Return the flow of a round that was decided on ``snapshot``; ``words``: names of its classes."""
    problem, assessed = snapshot.problem, snapshot.assessed
    resources = assessed.machines.resources
    placed = _by_class(problem, placement.assignments)
    _, points = model_points(
        assessed, snapshot.configuration.models, problem.shape[placed.cls], placed.machine
    )

    def static(shape: int) -> list[MachineRefusal]:
        by_models = (each.refusals(shape) for each in assessed.assessments)
        by_model_rules = [
            MachineRefusal(Cause(StatedReason(words)), refused)
            for found in by_models
            for words, refused in found
        ]
        return [*assessed.static[shape].refusals(), *by_model_rules]

    found = find_gates(problem, resources, lambda shape: assessed.static[shape].refusals())
    kept = find_kept_back(problem, placed, resources, static)
    uids = _uids(snapshot, placed) if with_tasks else ()
    round_words = RoundWords(snapshot.machine_names, resources, words)
    held = limit_to_capacity(problem, assessed.machines.capacity)
    return _flow(held, placement, placed, round_words, _Met(found, kept), points, uids)


def problem_flow(problem: PlacementProblem, placement: Placement, words: RoundWords) -> RoundFlow:
    """Return the flow of a round of which only the problem is known: without each model's points, and without uids."""
    placed = _by_class(problem, placement.assignments)
    found = find_gates(problem, words.resources)

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
    """Return the flow of ``placed``, the assignments by class; ``points``: points of each model, by its name."""
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
    for number, (described, shape, tasks, there, price) in enumerate(
        zip(words.classes, *(each.tolist() for each in columns), strict=True)
    ):
        gate = met.gates.get(shape, _UNKNOWN)
        amounts = zip(words.resources, problem.requests[shape].tolist(), strict=True)
        classes.append(
            FlowClass(
                name=described.name,
                job=described.job,
                namespace=described.namespace,
                priority=described.priority,
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
    """Return the assignments class by class, each in the order in which its tasks are given to the entries."""
    placed = in_delta_order(problem, placed)
    order = np.argsort(placed.cls, kind="stable")
    return placed.select(order)


def _uids(snapshot: Snapshot, placed: Assignments) -> list[str]:
    """Return the uids of the tasks of each entry in turn: the first members of each class (``commit.placements``)."""
    taken = placed.count_per_class(len(snapshot.members))
    return [
        uid
        for first, count in zip(snapshot.first.tolist(), taken.tolist(), strict=True)
        for uid in snapshot.uids[first : first + count]
    ]
