"""Builders for tests of groups: racks of machines, groups with constraints, and what became of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from cost_models.group_terms import GROUP_RECORD, TREE_RECORD
from cost_models.registry import load_model
from firmament.core.configuration import RoundOptions, WeightedModel
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    JobDefined,
    RecordRemoved,
    RecordUpserted,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job
from firmament.core.results import DeltaKind, GangPhase, RoundResult
from firmament.core.scheduler import Scheduler
from tests.support.core import Clock, machine, scheduler, task_class, uids

CPU = 1000
LEVELS = ("rack", "node")

Racks: TypeAlias = Mapping[str, Mapping[str, int]]
Constraints: TypeAlias = Mapping[str, Mapping[str, object]]
NONE: Constraints = {}


def overlay(**args: object) -> WeightedModel:
    return WeightedModel(load_model("topology", args))


def racks(**slots: Sequence[int]) -> dict[str, dict[str, int]]:
    """Racks by name, with machines named RACK-n that take so many tasks of one core each."""
    return {
        rack: {f"{rack}-{index}": count for index, count in enumerate(given)} for rack, given in slots.items()
    }


def machines(given: Racks) -> list[Event]:
    return [machine(name, cpu=CPU * count) for rack in given.values() for name, count in rack.items()]


def tree(
    given: Mapping[str, object],
    levels: Sequence[str] = LEVELS,
    resources: Sequence[str] = ("cpu", "memory"),
) -> RecordUpserted:
    """The record of a tree; numbers of places below machines are left out."""
    payload = {"name": "t", "levels": list(levels), "resources": list(resources), "tree": _bare(given)}
    return RecordUpserted(TREE_RECORD, "tree", json.dumps(payload).encode())


def _bare(units: Mapping[str, object]) -> dict[str, object]:
    return {name: _bare(below) if isinstance(below, Mapping) else {} for name, below in units.items()}


def rules(job: str, constraints: Constraints = NONE) -> RecordUpserted:
    payload = {"group": f"ns/{job}", "constraints": constraints}
    return RecordUpserted(GROUP_RECORD, job, json.dumps(payload).encode())


def without_rules(job: str) -> RecordRemoved:
    return RecordRemoved(GROUP_RECORD, job)


def job(name: str, size: int) -> JobDefined:
    return JobDefined(Job(name, name=f"ns/{name}", size=size, min_members=size))


def group(
    name: str,
    size: int,
    constraints: Constraints = NONE,
    *,
    priority: int = 0,
    cls: int = 1,
    members: int | None = None,
) -> list[Event]:
    """A group whose tasks, NAME-0 to NAME-n, ask for one core each."""
    names = uids(name, size if members is None else members)
    return [
        ClassDefined(1, task_class(CPU)),
        job(name, size),
        rules(name, constraints),
        TasksSubmitted(cls, names, job=name, priority=priority, names=names),
    ]


def singles(*names: str, priority: int = 0) -> list[Event]:
    return [ClassDefined(1, task_class(CPU)), TasksSubmitted(1, names, priority=priority, names=names)]


def running(name: str, on: Mapping[str, Sequence[str]], *, priority: int = 0) -> list[Event]:
    """Bound tasks of a job, by machine."""
    return [
        ClassDefined(1, task_class(CPU)),
        *(
            TasksBound(at, 1, tuple(names), names=tuple(names), job=name, priority=priority)
            for at, names in on.items()
        ),
    ]


def cluster(
    *events: Event | Sequence[Event],
    clock: Clock | None = None,
    options: RoundOptions | None = None,
    **args: object,
) -> Scheduler:
    """A scheduler with the overlay."""
    return scheduler(*events, policy="trivial", overlays=[overlay(**args)], clock=clock, options=options)


def counts(result: RoundResult, prefix: str = "") -> dict[str, int]:
    """Places per machine of the tasks whose names begin with ``prefix``."""
    return dict(
        sorted(
            Counter(
                delta.machine
                for delta in result.deltas
                if delta.kind is DeltaKind.PLACE and delta.uid.startswith(prefix)
            ).items()
        )
    )


def evicted(result: RoundResult) -> list[str]:
    return sorted(delta.uid for delta in result.deltas if delta.kind is DeltaKind.PREEMPT)


def accept(core: Scheduler, result: RoundResult) -> None:
    core.report(
        [
            BindingReport(delta.uid, delta.machine, bound=True)
            for delta in result.deltas
            if delta.kind is DeltaKind.PLACE
        ]
    )


def phases(result: RoundResult) -> dict[str, GangPhase]:
    return {state.job: state.phase for state in result.gangs}


def told(result: RoundResult) -> dict[str, str]:
    return {state.job: state.message for state in result.gangs}
