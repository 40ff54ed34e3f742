"""Encodes what the core answers: round results, explanations and state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from firmament.core.results import (
    Delta,
    DeltaKind,
    Explanation,
    MachineState,
    MachineVerdict,
    RoundResult,
    TaskState,
    Unscheduled,
)
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer


def round_to_proto(result: RoundResult) -> pb.RoundResult:
    """Encode a round's result."""
    message = pb.RoundResult(
        round=result.round,
        unscheduled=[_unscheduled(group) for group in result.unscheduled],
        stats=pb.RoundStats(**asdict(result.stats)),
    )
    for gang in result.gangs:
        message.gangs.add(
            job=gang.job,
            state=pb.GangState.State.Value(gang.phase.value),
            message=gang.message,
            members=gang.members,
            running=gang.running,
            needed=gang.needed,
        )
    for delta in result.deltas:
        _add_delta(message.deltas, delta)
    return message


def explanation_to_proto(explanation: Explanation) -> pb.Explanation:
    """Encode the verdicts on one task."""
    return pb.Explanation(
        task=explanation.uid,
        name=explanation.name,
        state=explanation.state,
        machine=explanation.machine,
        machines=[_machine_verdict(verdict) for verdict in explanation.machines],
    )


def task_state_to_proto(state: TaskState) -> pb.TaskState:
    """Encode a task as listed."""
    return pb.TaskState(
        uid=state.uid,
        name=state.name,
        state=state.state,
        machine=state.machine,
        priority=state.priority,
        message=state.message,
    )


def machine_state_to_proto(state: MachineState) -> pb.MachineState:
    """Encode a machine as listed."""
    return pb.MachineState(
        name=state.name,
        allocatable=_quantities(state.allocatable),
        free=_quantities(state.free),
        tasks=state.tasks,
    )


def _quantities(amounts: Mapping[str, int]) -> list[pb.Quantity]:
    return [pb.Quantity(resource=resource, amount=amount) for resource, amount in sorted(amounts.items())]


def _add_delta(deltas: RepeatedCompositeFieldContainer[pb.Delta], delta: Delta) -> None:
    """Append a delta. Plain placements, of which there may be 100,000, take the short way."""
    if delta.kind is DeltaKind.PLACE and not delta.depends_on:
        deltas.add(kind=pb.Delta.PLACE, task=delta.uid, machine=delta.machine)
        return
    deltas.add(
        kind=pb.Delta.Kind.Value(delta.kind.value),
        task=delta.uid,
        machine=delta.machine,
        from_machine=delta.from_machine,
        depends_on=delta.depends_on,
        beyond_budget=delta.beyond_budget,
        withdrawn=delta.withdrawn,
    )


def _unscheduled(group: Unscheduled) -> pb.UnscheduledTasks:
    return pb.UnscheduledTasks(
        tasks=group.uids,
        message=group.message,
        reasons=[pb.ReasonCount(reason=reason, machines=machines) for reason, machines in group.reasons],
    )


def _machine_verdict(verdict: MachineVerdict) -> pb.MachineVerdict:
    return pb.MachineVerdict(
        machine=verdict.machine,
        feasible=verdict.feasible,
        reasons=verdict.reasons,
        cost=verdict.cost,
        models=[
            pb.ModelVerdict(
                model=model.model,
                feasible=model.feasible,
                raw=model.raw,
                score=model.score,
                cost=model.cost,
                details=model.details,
            )
            for model in verdict.models
        ],
    )
