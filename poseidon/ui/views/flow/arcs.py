"""Reads the arcs of a flow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from poseidon.pods.tasks import OWNER, parts_of

if TYPE_CHECKING:
    from protos.firmament.v1 import scheduler_pb2 as pb


class Arc(NamedTuple):
    """So many tasks of a class went to a machine; ``number`` tells the arc, ``cost`` is that of one task, in points."""

    number: int
    cls: int
    machine: int
    tasks: int
    cost: float


class Price(NamedTuple):
    """What the place of one task cost: ``cost`` by its models together, and the price of its machine, in points."""

    machine: str
    cost: float
    machine_price: float
    models: Mapping[str, float]


def arcs_of(flow: pb.RoundFlow) -> Iterator[Arc]:
    """Yield all arcs in order."""
    columns = flow.arc_class, flow.arc_machine, flow.arc_tasks, flow.arc_cost
    for number, (cls, machine, tasks, cost) in enumerate(zip(*columns, strict=True)):
        yield Arc(number, cls, machine, tasks, cost)


def models_of(flow: pb.RoundFlow, arc: int) -> dict[str, float]:
    """Return what each model charged on an arc."""
    arcs = len(flow.arc_class)
    return {
        name: flow.model_cost[row * arcs + arc]
        for row, name in enumerate(flow.models)
        if row * arcs + arc < len(flow.model_cost)
    }


def price_of(flow: pb.RoundFlow, uid: str) -> Price | None:
    """Return what a task's place cost, None if this round did not place it."""
    try:
        place = list(flow.arc_uids).index(uid)
    except ValueError:
        return None
    before = 0
    for arc in arcs_of(flow):
        before += arc.tasks
        if place < before:
            price = flow.machine_price[arc.machine]
            return Price(flow.machines[arc.machine], arc.cost, price, models_of(flow, arc.number))
    return None


def class_price(cls: pb.FlowClass) -> float | None:
    """Return what one more task of a class is worth at the optimum, None if no price is known."""
    return round(cls.price, 6) if cls.HasField("price") else None


def class_label(cls: pb.FlowClass) -> str:
    """Return what people know a class by: its workload, or one of its tasks."""
    return job_name(cls.job) or cls.name


def job_name(job: str) -> str:
    """Return what people know a job by, "" for none: ``namespace/Kind/name`` of an owner, the name of a group."""
    if not job:
        return ""
    kind, *parts = parts_of(job)
    return "/".join(parts[:3] if kind == OWNER else parts) or job
