"""Scenes of the oracle as events for the core."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from typing import Any

from cost_models.registry import load_model
from firmament.core.configuration import WeightedModel
from firmament.core.events import (
    ClassDefined,
    Event,
    MachineSampled,
    MachineUpserted,
    TasksBound,
    TasksSubmitted,
    TaskUses,
    WindowUse,
)
from firmament.core.model import Machine, TaskClass
from firmament.core.results import ModelVerdict
from firmament.core.scheduler import Scheduler
from tests.cost_models.load_aware.oracle import Args, Node, Pod
from tests.support.core import START, Clock, scheduler

NOW = START
MODEL = "load_threshold"
BATCH_AND_MID = {
    f"kubernetes.io/{each}-{what}": 10**15 for each in ("batch", "mid") for what in ("cpu", "memory")
}
"""What a node offers to pods of Koordinator's lower classes: always enough."""


def overlay(**args: Any) -> WeightedModel:
    """The overlay with the given arguments."""
    return WeightedModel(load_model(MODEL, args))


def of_args(args: Args, **more: Any) -> WeightedModel:
    """The overlay configured as the oracle is."""
    given = {field.name: getattr(args, field.name) for field in fields(args)}
    if not args.resourceWeights:
        del given["resourceWeights"]
    return overlay(**given, **more)


def content(pod: Pod) -> TaskClass:
    return TaskClass(
        requests=tuple(sorted(pod.requests.items())),
        limits=tuple(sorted(pod.limits.items())),
        service_class=pod.service_class,
        daemon=pod.daemon,
    )


def node_events(node: Node) -> Iterable[Event]:
    """The machine, the tasks on it, and the report about it."""
    own = asdict(node.own)
    thresholds = {
        "usageThresholds": own["usage"],
        "prodUsageThresholds": own["prod"],
        "aggregatedUsage": {
            "usageThresholds": own["aggregated"],
            "usageAggregationType": own["kind"],
            "usageAggregatedDuration": f"{int(own['seconds'])}s",
        },
    }
    annotation = {"scheduling.koordinator.sh/usage-thresholds": json.dumps(thresholds)}
    custom = any(own[part] for part in ("usage", "prod", "aggregated"))
    yield MachineUpserted(
        Machine(
            node.name,
            {**BATCH_AND_MID, **node.allocatable, "pods": 1000},
            annotations=annotation if custom else {},
        )
    )


def report_event(node: Node) -> Iterable[Event]:
    report = node.report
    if report is None:
        return
    measured = [pod for pod in node.pods if pod.used is not None]
    yield MachineSampled(
        node.name,
        report.time or 0.0,
        dict(report.usage or {}),
        interval=report.interval,
        no_usage=report.usage is None,
        windows=tuple(WindowUse(kind, length, dict(use)) for (kind, length), use in report.windows.items()),
        own_windows=True,
        system=dict(report.system),
        tasks=TaskUses(
            tuple(pod.name for pod in measured),
            ("cpu", "memory"),
            tuple(
                float((pod.used or {}).get(resource, 0)) for pod in measured for resource in ("cpu", "memory")
            ),
            tuple(pod.said_prod for pod in measured),
        ),
    )


def cluster(
    nodes: Sequence[Node],
    waiting: Sequence[Pod],
    model: WeightedModel,
    *,
    policy: str = "void",
    now: float = NOW,
) -> Scheduler:
    """A scheduler that knows the nodes, and the pods of ``waiting`` as pending."""
    events: list[Event] = []
    number = 0
    for node in nodes:
        events += node_events(node)
        for pod in node.pods:
            number += 1
            events.append(ClassDefined(number, content(pod)))
            events.append(
                TasksBound(
                    node.name,
                    number,
                    (pod.name,),
                    assigned=(pod.assigned,),
                    initialized=(pod.initialized or 0.0,),
                )
            )
        events += report_event(node)
    for pod in waiting:
        number += 1
        events.append(ClassDefined(number, content(pod)))
        events.append(TasksSubmitted(number, (pod.name,)))
    return scheduler(events, policy=policy, overlays=[model], clock=Clock(now))


def verdicts(core: Scheduler, uid: str) -> dict[str, tuple[ModelVerdict, tuple[str, ...]]]:
    """The overlay's verdict on each machine, and the reasons of the whole."""
    return {
        each.machine: (next(model for model in each.models if model.model == MODEL), each.reasons)
        for each in core.explain(uid).machines
    }
