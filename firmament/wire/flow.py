"""Encodes what is told of rounds that are over: their figures, and what a flow came to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from firmament.core.round_flow.assembly import FlowClass, RoundFlow, RoundSummary
from protos.firmament.v1 import scheduler_pb2 as pb


def rounds_to_proto(rounds: Iterable[RoundSummary]) -> pb.ListRoundsResponse:
    """Encode figures of rounds."""
    return pb.ListRoundsResponse(
        rounds=[
            pb.RoundSummary(
                round=each.round,
                ended=each.ended,
                stats=pb.RoundStats(**asdict(each.stats)),
                evictions=each.evictions,
            )
            for each in rounds
        ]
    )


def flow_to_proto(found: tuple[RoundSummary, RoundFlow] | None) -> pb.RoundFlow:
    """Encode a round and its flow; None: there is none."""
    if found is None:
        return pb.RoundFlow()
    summary, flow = found
    return pb.RoundFlow(
        round=summary.round,
        ended=summary.ended,
        stats=pb.RoundStats(**asdict(summary.stats)),
        machines=flow.machines,
        machine_price=flow.machine_price.tolist(),
        machine_room=flow.machine_room.tolist(),
        machine_saturated=flow.machine_saturated.tolist(),
        classes=[_class(each) for each in flow.classes],
        models=flow.models,
        arc_class=flow.cls.tolist(),
        arc_machine=flow.machine.tolist(),
        arc_tasks=flow.count.tolist(),
        arc_cost=flow.cost.tolist(),
        model_cost=flow.model_cost.ravel().tolist(),
        arc_uids=flow.uids,
    )


def _class(told: FlowClass) -> pb.FlowClass:
    return pb.FlowClass(
        name=told.name,
        job=told.job,
        namespace=told.namespace,
        priority=told.priority,
        tasks=told.tasks,
        placed=told.placed,
        price=told.price,
        requests=[pb.Quantity(resource=name, amount=amount) for name, amount in told.requests],
        refusals=[pb.ReasonCount(reason=reason, machines=machines) for reason, machines in told.refusals],
        open=told.open,
    )
