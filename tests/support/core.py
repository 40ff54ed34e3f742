"""Builders for tests of the core: short to call, explicit where it matters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import JointRows
from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, RoundOptions, WeightedModel
from firmament.core.events import ClassDefined, Event, MachineUpserted, TasksSubmitted
from firmament.core.flow.problem import WAIT_BUCKETS, PlacementProblem
from firmament.core.model import Machine, Taint, TaskClass
from firmament.core.results import RoundResult
from firmament.core.scheduler import Scheduler
from firmament.solvers.base import Solver
from firmament.solvers.ortools_solver import OrToolsSolver

GIB = 2**30
START = 1_000_000.0

REFRESH = 60.0
"""Seconds after which what waiting tasks were told is refreshed, if machines have changed: the default."""


@dataclass(slots=True)
class Clock:
    """A wall clock that moves when told to."""

    now: float = START

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


def machine(
    name: str = "m",
    *,
    cpu: int = 4000,
    memory: int = 16 * GIB,
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Taint] = (),
    cordoned: bool = False,
    not_ready: bool = False,
    extended: Mapping[str, int] | None = None,
) -> MachineUpserted:
    """The event that adds a machine of 4 cores and 16 GiB, unless told otherwise."""
    return MachineUpserted(
        Machine(
            name=name,
            allocatable={"cpu": cpu, "memory": memory, "pods": pods, **(extended or {})},
            labels=labels or {},
            taints=tuple(taints),
            unschedulable=cordoned,
            not_ready=not_ready,
        )
    )


def task_class(cpu: int = 100, memory: int = 0, **content: object) -> TaskClass:
    """A class that requests ``cpu`` and ``memory``; ``content`` are further fields of ``TaskClass``."""
    requests = tuple((name, amount) for name, amount in (("cpu", cpu), ("memory", memory)) if amount)
    return TaskClass(**{"requests": requests, **content})  # type: ignore[arg-type]  # fields by name


def tasks(number: int, *uids: str, content: TaskClass | None = None, priority: int = 0) -> list[Event]:
    """The events that define class ``number`` (one of 100 milli-cores by default) and submit tasks of it."""
    return [ClassDefined(number, content or task_class()), TasksSubmitted(number, uids, priority=priority)]


def uids(prefix: str, count: int) -> tuple[str, ...]:
    """``prefix-0`` to ``prefix-(count-1)``."""
    return tuple(f"{prefix}-{index}" for index in range(count))


def scheduler(
    *events: Event | Sequence[Event],
    policy: str = "cpu_mem",
    args: Mapping[str, object] | None = None,
    overlays: Sequence[WeightedModel] = (),
    options: RoundOptions | None = None,
    clock: Clock | None = None,
    solver: Solver | None = None,
) -> Scheduler:
    """A scheduler to which ``events`` (or lists of them) have been applied in one batch."""
    made = Scheduler(
        configuration=CoreConfiguration(
            policy=WeightedModel(load_model(policy, args or {})),
            overlays=tuple(overlays),
            options=options or RoundOptions(),
        ),
        solver=solver or OrToolsSolver(),
        clock=clock or Clock(),
    )
    batch: list[Event] = []
    for event in events:
        batch.extend(event if isinstance(event, Sequence) else [event])
    made.apply(batch)
    return made


def placed(result: RoundResult) -> dict[str, str]:
    """Machine by uid of a round's placements."""
    return {delta.uid: delta.machine for delta in result.deltas}


def messages(result: RoundResult, *, preemption: bool = False) -> dict[str, str]:
    """Message by uid of a round's tasks that stay pending; what it says of preemption only if asked for."""
    return {
        uid: group.message if preemption else without_preemption(group.message)
        for group in result.unscheduled
        for uid in group.uids
    }


def without_preemption(message: str) -> str:
    """A message without the sentence about what evictions would help."""
    return re.sub(r" no new claims to deallocate, preemption: .*?\.(?= |$)", "", message)


def problem(
    *,
    tasks: Sequence[int | Sequence[int]],
    requests: Sequence[Sequence[int]],
    free: Sequence[Sequence[int]],
    cost: Sequence[Sequence[int]] | None = None,
    feasible: Sequence[Sequence[bool]] | None = None,
    crowd: int | Sequence[int] = 0,
    priority: Sequence[int] | None = None,
    pins: Mapping[int, Sequence[int]] | None = None,
    rotation: int = 0,
    joint: Sequence[JointRows] = (),
) -> PlacementProblem:
    """A problem in which every class has a shape of its own.

    Per class: ``tasks`` (a number that have just arrived, or one number per wait bucket), ``requests`` per resource,
    ``cost`` and ``feasible`` per machine, ``priority``, ``pins``. Per machine: ``free`` per resource.
    """
    classes, machines = len(tasks), len(free)
    counts = [
        [0] * (WAIT_BUCKETS - 1) + [entry] if isinstance(entry, int) else list(entry) for entry in tasks
    ]
    return PlacementProblem(
        counts=np.array(counts, dtype=np.int64).reshape(classes, WAIT_BUCKETS),
        priority=np.array([0] * classes if priority is None else priority, dtype=np.int64),
        shape=np.arange(classes, dtype=np.int64),
        requests=np.array(requests, dtype=np.int64).reshape(classes, -1),
        feasible=np.ones((classes, machines), np.bool_) if feasible is None else np.array(feasible, np.bool_),
        cost=np.zeros((classes, machines), np.int32) if cost is None else np.array(cost, dtype=np.int32),
        crowd=np.broadcast_to(np.asarray(crowd, dtype=np.int64), (machines,)).copy(),
        free=np.array(free, dtype=np.int64).reshape(machines, len(requests[0])),
        rotation=rotation,
        pins={cls: np.array(rows, dtype=np.int64) for cls, rows in (pins or {}).items()},
        joint=tuple(joint),
    )
