"""Turns a solver's answers into documents for programs: plain dictionaries, with amounts as numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from protos.firmament.v1 import scheduler_pb2 as pb

Document = dict[str, Any]

COUNTS = ("machines", "pending", "assumed", "bound", "rounds")
"""The numbers of a cluster's objects."""


def amounts(quantities: Iterable[pb.Quantity]) -> dict[str, int]:
    """Return amounts by resource: cpu in milli-cores, other resources in bytes or as counts."""
    return {each.resource: each.amount for each in quantities}


def cluster_document(name: str, driven: bool, state: pb.ListStateResponse) -> Document:
    """Return the counts of a cluster, and whether its driver is connected."""
    return {"cluster": name, "live": driven, **{count: getattr(state, count) for count in COUNTS}}


def task_document(task: pb.TaskState) -> Document:
    """Return the JSON document of a task's state; ``machine`` and ``message`` are null if the task has none."""
    plain = {name: getattr(task, name) for name in ("uid", "name", "state", "machine", "priority", "message")}
    return plain | {name: plain[name] or None for name in ("machine", "message")}


def machine_document(machine: pb.MachineState) -> Document:
    """Return a machine's allocatable and free amounts, and its number of tasks."""
    offered = {"allocatable": amounts(machine.allocatable), "free": amounts(machine.free)}
    return {"name": machine.name, "tasks": machine.tasks, **offered}


def explanation_document(explanation: pb.Explanation) -> Document:
    """Return the verdicts on a task, by machine."""
    return {
        "task": explanation.task,
        "name": explanation.name,
        "state": explanation.state,
        "machine": explanation.machine or None,
        "machines": {each.machine: _verdict(each) for each in explanation.machines},
    }


def _verdict(verdict: pb.MachineVerdict) -> Document:
    models = {
        each.model: {
            "feasible": each.feasible,
            "raw": each.raw,
            "score": each.score if each.HasField("score") else None,
            "cost": each.cost,
            "details": list(each.details),
        }
        for each in verdict.models
    }
    reasons = list(verdict.reasons)
    return {"feasible": verdict.feasible, "cost": verdict.cost, "reasons": reasons, "models": models}
