"""Reads the arcs and prices of a flow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from poseidon.pods.tasks import OWNER, parts_of

if TYPE_CHECKING:
    from protos.firmament.v1 import scheduler_pb2 as pb


class Arc(NamedTuple):
    """An arc of a flow: the round placed ``tasks`` of a class on a machine, at ``cost`` points per task.

    ``number`` is the arc's index.
    """

    number: int
    cls: int
    machine: int
    tasks: int
    cost: float


class Price(NamedTuple):
    """The price of one task's placement in points: ``cost`` of all cost models, and the price of its machine."""

    machine: str
    cost: float
    machine_price: float
    models: Mapping[str, float]


def iter_arcs(flow: pb.RoundFlow) -> Iterator[Arc]:
    """Yield the arcs of a flow in order."""
    columns = flow.arc_class, flow.arc_machine, flow.arc_tasks, flow.arc_cost
    for number, (cls, machine, tasks, cost) in enumerate(zip(*columns, strict=True)):
        yield Arc(number, cls, machine, tasks, cost)


def models_of(flow: pb.RoundFlow, arc: int) -> dict[str, float]:
    """Return the points that each cost model charges on an arc."""
    arcs = len(flow.arc_class)
    return {
        name: flow.model_cost[row * arcs + arc]
        for row, name in enumerate(flow.models)
        if row * arcs + arc < len(flow.model_cost)
    }


def price_of(flow: pb.RoundFlow, uid: str) -> Price | None:
    """Return the price of a task's placement, or None if this round did not place the task."""
    try:
        place = list(flow.arc_uids).index(uid)
    except ValueError:
        return None
    before = 0
    for arc in iter_arcs(flow):
        before += arc.tasks
        if place < before:
            price = flow.machine_price[arc.machine]
            return Price(flow.machines[arc.machine], arc.cost, price, models_of(flow, arc.number))
    return None


def class_price(cls: pb.FlowClass) -> float | None:
    """Return the dual price of a class (the worth of one more task), or None if it is unknown."""
    return round(cls.price, 6) if cls.HasField("price") else None


def class_label(cls: pb.FlowClass) -> str:
    """Return the name of a class for people: its workload, or one of its tasks."""
    return job_name(cls.job) or cls.name


def job_name(job: str) -> str:
    """Return the name of a job for people: ``namespace/Kind/name`` of an owner, or a group's name, or "" for none."""
    if not job:
        return ""
    kind, *parts = parts_of(job)
    return "/".join(parts[:3] if kind == OWNER else parts) or job
