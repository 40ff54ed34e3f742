"""Places pods by rounds of this scheduler: in batches, without knowledge of later ones, and once with moves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.fragmentation.trace import MILLI, Arrivals, NodeType, Outcome, PodType
from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    MachineUpserted,
    RecordUpserted,
    TasksSubmitted,
)
from firmament.core.model import Machine, NodeSelectorTerm, Requirement, TaskClaim, TaskClass
from firmament.core.record_kinds import DEVICE_CLASS_RECORD, DEVICE_SLICE_RECORD
from firmament.core.rescheduling.plan_moves import PlanOptions
from firmament.core.rescheduling.rehearsal import move
from firmament.core.rescheduling.single_moves import plan_single_moves
from firmament.core.scheduler import Scheduler
from firmament.solvers.ortools_solver import OrToolsSolver

DRIVER = "gpu.example.com"
MODEL = "gpu-model"
OVERLAYS = (("gpu_prices", 20), ("gpu_fragmentation", 1))
"""The models that rounds go by, and their weights; the second settles what is equal by the first."""

FULL = 0.93
"""Share of the GPUs that is taken when pods are moved: first pods find no place, but there are gaps for others."""
MOVE_COST = 20.0
"""Points that a move must save, as by default: a hundredth of a GPU by ``gpu_prices`` with this weight."""


USUAL = 10**9
"""As how many pods the stated usual pods count: FGD too goes by them alone, whatever comes."""


def make_scheduler(overlays: Sequence[tuple[str, int]], usual: Sequence[Mapping[str, Any]] = ()) -> Scheduler:
    """Return a scheduler with only these overlays (name and weight), whose arguments state the ``usual`` pods."""
    told = {"usualPods": usual, "usualPodsCount": USUAL} if usual else {}
    models = [
        WeightedModel(load_model(name, {"drivers": [DRIVER]} | told), weight) for name, weight in overlays
    ]
    configuration = CoreConfiguration(policy=WeightedModel(load_model("void", {})), overlays=tuple(models))
    return Scheduler(configuration=configuration, solver=OrToolsSolver(), clock=lambda: 0.0)


def describe_node(name: str, node: NodeType) -> list[Event]:
    """Return the events that describe a machine and its GPUs."""
    devices = [
        {"name": f"gpu-{n}", "allowMultipleAllocations": True, "capacity": {"milli": {"value": str(MILLI)}}}
        for n in range(node.gpus)
    ]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
    amounts = {"cpu": node.cpu, "memory": node.memory, "pods": 1000}
    return [
        MachineUpserted(Machine(name, amounts, labels={MODEL: node.model})),
        RecordUpserted(DEVICE_SLICE_RECORD, name, json.dumps(spec).encode()),
    ]


def state_usual_pods(arrivals: Arrivals) -> list[dict[str, Any]]:
    """Return how frequent each type of pod is, as the models' argument ``usualPods``; FGD uses the same figures."""
    return [
        {
            "weight": count,
            "requests": {"cpu": f"{pod.cpu}m", "memory": pod.memory},
            "nodeLabels": {MODEL: list(pod.models)} if pod.models else {},
        }
        | ({"gpus": pod.gpus, "share": pod.milli / MILLI} if pod.gpus else {})
        for pod, count in zip(arrivals.types, arrivals.counts, strict=True)
        if count
    ]


def describe_pod(pod: PodType) -> TaskClass:
    """Return the class that describes a pod's requests."""
    claims: tuple[TaskClaim, ...] = ()
    if pod.gpus:
        asked = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": pod.gpus}
        part = {"capacity": {"requests": {"milli": str(pod.milli)}}, "order": "binpack"}
        spec = {"devices": {"requests": [{"name": "gpu", "exactly": asked | part}]}}
        claims = (TaskClaim("gpu", spec=json.dumps(spec, sort_keys=True)),)
    required = (NodeSelectorTerm((Requirement(MODEL, "In", pod.models),)),) if pod.models else ()
    requests = (("cpu", pod.cpu), ("memory", pod.memory))
    return TaskClass(requests, required=required, claims=claims)


def place_in_rounds(
    arrivals: Arrivals,
    batch: int,
    overlays: Sequence[tuple[str, int]] = OVERLAYS,
    moves: float = 0.0,
    *,
    learn: bool = False,
) -> Outcome:
    """Place pods that arrive in batches of ``batch``; those without a place wait for later rounds. Return the outcome.

    ``moves``: which share of the placed pods is moved at most. They move once, when `FULL` of the GPUs is taken.
    ``learn``: models learn from pods that have come how frequent each type is; else they are told, as FGD is.
    """
    core = make_scheduler(overlays, () if learn else state_usual_pods(arrivals))
    events: list[Event] = [RecordUpserted(DEVICE_CLASS_RECORD, "gpu", b"{}")]
    number = 0
    for node in arrivals.nodes:
        for _ in range(node.count):
            events += describe_node(f"n{number:04d}", node)
            number += 1
    core.apply(events)
    core.apply([ClassDefined(each + 1, describe_pod(pod)) for each, pod in enumerate(arrivals.types)])
    placed: set[int] = set()
    moved, given = 0, 0
    for first in range(0, len(arrivals.order), batch):
        by_type: dict[int, list[str]] = {}
        for place in range(first, min(first + batch, len(arrivals.order))):
            by_type.setdefault(arrivals.order[place], []).append(f"p{place:05d}")
        core.apply([TasksSubmitted(kind + 1, tuple(uids)) for kind, uids in by_type.items()])
        deltas = core.run_round().deltas
        core.report([BindingReport(each.uid, each.machine, bound=True) for each in deltas])
        coming = {int(delta.uid[1:]) for delta in deltas}
        placed |= coming
        given += sum(arrivals.types[arrivals.order[place]].asks for place in coming)
        if moves > 0 and given >= FULL * arrivals.total:
            moved, moves = move_pods(core, [f"p{place:05d}" for place in sorted(placed)], moves), 0.0
    return Outcome(given / arrivals.total, frozenset(placed), moved)


def move_pods(core: Scheduler, uids: Sequence[str], most: float) -> int:
    """Move pods to where they cost less, as ``poseidon reschedule`` does: at most a share ``most``. Return how many."""
    options = PlanOptions(MOVE_COST, int(most * len(uids)))
    plan = plan_single_moves(core, dict.fromkeys(uids, 0.0), options)
    for each in plan.moves:
        move(core, each.uid, each.target)
    return len(plan.moves)
