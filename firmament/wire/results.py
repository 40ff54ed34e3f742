"""Encodes what the core answers to questions: explanations and state."""

from __future__ import annotations

from collections.abc import Mapping

from firmament.core.results import Explanation, MachineState, MachineVerdict, TaskState
from protos.firmament.v1 import scheduler_pb2 as pb


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
