"""Measures rounds with queues, by the core alone.

* *deep*: 10,000 queues in 100 cohorts, each of a namespace of its own, with 100,000 pods that wait, and quota for some;
* *wide*: 1,300 machines with 8 GPUs, 536 gangs that wait, and room for part of them;
* *fill*: 4,000 pods of one GPU on 500 empty machines of 8;
* *unschedulable*: a gang of 10 pods of 8 GPUs on 500 machines of which none is empty;
* *reclaim*: a queue takes back what others borrow: 500 pods of 8 GPUs go for 500 others;
* *consolidate*: 41 gangs of 8 GPUs whose machine another has to leave, by evicting less important pods;
* *idle*: rounds of pods that name no queue, with quotas in the cluster and without, in pairs that follow each other.

Seconds are of processor time: other programs on the machine do not count.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.environment import environment
from firmament.core.configuration import CoreConfiguration
from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    MachineUpserted,
    RecordUpserted,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job, Machine, TaskClass
from firmament.core.record_kinds import FLAVOR_RECORD, QUOTA_RECORD
from firmament.core.results import DeltaKind, RoundResult
from firmament.core.scheduler import Scheduler
from firmament.memory import keep_freed_memory, relax_garbage_collection
from firmament.solvers.ortools_solver import OrToolsSolver

GIB = 2**30
GPU = "nvidia.com/gpu"

RECLAIM = {"within": "LowerPriority", "reclaim": "Any"}


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """A measurement of queues."""

    shapes: tuple[str, ...] = ()
    """Names of shapes; none: all."""
    scale: float = 1.0
    """Share of the full sizes."""
    runs: int = 3
    """Runs of each measurement, after one that warms up."""
    pairs: int = 10
    """Pairs of alternating rounds."""
    seed: int = 1
    """Seed of the draws."""


def measure_queues(options: QueueOptions, *, progress: Callable[[str], None]) -> dict[str, object]:
    """Measure the shapes; return what ``-o json`` prints."""
    shapes: dict[str, Callable[[QueueOptions], list[Event]]] = {
        "deep": draw_deep_queues,
        "wide": draw_wide_cluster,
        "fill": draw_empty_cluster,
        "unschedulable": draw_broken_cluster,
        "reclaim": draw_borrowed_cluster,
        "consolidate": draw_scattered_cluster,
    }
    chosen = options.shapes or (*shapes, "idle")
    found: dict[str, object] = {}
    for name in chosen:
        progress(name)
        found[name] = _measure_idle(options) if name == "idle" else _measure(options, shapes[name](options))
    return {"kind": "queues", "environment": environment(), "options": asdict(options), **found}


# --- shapes ---------------------------------------------------------------------------------------------------------


def draw_deep_queues(options: QueueOptions) -> list[Event]:
    """Return many queues in cohorts, each with pods that wait for quota and for room."""
    rng = np.random.default_rng(options.seed)
    queues, cohorts = _scaled(options, 10_000), _scaled(options, 100)
    machines = _scaled(options, 2_000)
    events = [*_machines(machines, cpu=64_000), _flavor(), *(_quota(f"cohort-{n}") for n in range(cohorts))]
    for number in range(queues):
        quota = {"any": {"cpu": int(rng.integers(2, 9)) * 1000}}
        events.append(_quota(f"queue-{number}", quota, parent=f"cohort-{number % cohorts}"))
        cpu = int(rng.integers(1, 4)) * 500
        events.append(ClassDefined(number + 1, _pod(cpu=cpu, queue=f"queue-{number}")))
        uids = tuple(f"pod-{number}-{n}" for n in range(10))
        names = tuple(f"team-{number}/{each}" for each in uids)
        events.append(TasksSubmitted(number + 1, uids, priority=int(rng.integers(0, 3)), names=names))
    return events


def draw_wide_cluster(options: QueueOptions) -> list[Event]:
    """Return gangs of many sizes that wait for GPUs in queues of one cohort, on machines that are half full."""
    rng = np.random.default_rng(options.seed)
    machines, gangs = _scaled(options, 1_300), _scaled(options, 536)
    events = [*_machines(machines, gpus=8), _flavor(), _quota("all")]
    for number in range(20):
        quota = {"any": {GPU: machines * 8 // 20}}
        events.append(_quota(f"queue-{number}", quota, parent="all", preemption=RECLAIM))
        events.append(ClassDefined(number + 1, _pod(gpus=8, queue=f"queue-{number}")))
        events.append(ClassDefined(number + 101, _pod(gpus=4, queue=f"queue-{number}")))
    for number in range(machines // 2):
        queue = int(rng.integers(0, 20))
        events.append(TasksBound(f"node-{number:05d}", queue + 1, (f"running-{number}",)))
    for number in range(gangs):
        size, queue = int(rng.choice([1, 2, 4, 8, 16])), int(rng.integers(0, 20))
        events += _gang(f"gang-{number}", size, queue + 1 + 100 * int(rng.integers(0, 2)))
    return events


def draw_empty_cluster(options: QueueOptions) -> list[Event]:
    """Return as many jobs of one GPU as there are GPUs, in 20 queues."""
    machines = _scaled(options, 500)
    events = [*_machines(machines, gpus=8), _flavor(), _quota("all")]
    for number in range(20):
        events.append(_quota(f"queue-{number}", {"any": {GPU: machines * 8 // 20}}, parent="all"))
        events.append(ClassDefined(number + 1, _pod(gpus=1, queue=f"queue-{number}")))
    for number in range(machines * 8):
        events.append(JobDefined(Job(f"job-{number}", size=1)))
        events.append(TasksSubmitted(number % 20 + 1, (f"pod-{number}",), job=f"job-{number}"))
    return events


def draw_broken_cluster(options: QueueOptions) -> list[Event]:
    """Return machines with one GPU taken each, and a gang that needs ten whole ones."""
    machines = _scaled(options, 500)
    events = [*_machines(machines, gpus=8), _flavor(), _quota("queue", {"any": {GPU: machines * 8}})]
    events += [ClassDefined(1, _pod(gpus=1, queue="queue")), ClassDefined(2, _pod(gpus=8, queue="queue"))]
    events += [TasksBound(f"node-{n:05d}", 1, (f"running-{n}",)) for n in range(machines)]
    return [*events, *_gang("gang", 10, 2)]


def draw_borrowed_cluster(options: QueueOptions) -> list[Event]:
    """Return machines full of pods of a queue that has borrowed everything, and as many pods of the lending queue."""
    machines = _scaled(options, 500)
    events = [*_machines(machines, gpus=8), _flavor(), _quota("all")]
    events += [
        _quota("due", {"any": {GPU: machines * 8}}, parent="all", preemption=RECLAIM),
        _quota("borrows", {"any": {GPU: 0}}, parent="all"),
        ClassDefined(1, _pod(gpus=8, queue="borrows")),
        ClassDefined(2, _pod(gpus=8, queue="due")),
    ]
    events += [TasksBound(f"node-{n:05d}", 1, (f"running-{n}",)) for n in range(machines)]
    return [*events, TasksSubmitted(2, tuple(f"pod-{n}" for n in range(machines)))]


def draw_scattered_cluster(options: QueueOptions) -> list[Event]:
    """Return machines with two unimportant pods of two GPUs each, and gangs that need whole machines."""
    machines, gangs = _scaled(options, 500), _scaled(options, 41)
    quota = {"any": {GPU: machines * 8}}
    events = [*_machines(machines, gpus=8), _flavor(), _quota("queue", quota, preemption=RECLAIM)]
    events += [ClassDefined(1, _pod(gpus=2, queue="queue")), ClassDefined(2, _pod(gpus=8, queue="queue"))]
    for number in range(machines):
        uids = tuple(f"running-{number}-{each}" for each in range(2))
        events.append(TasksBound(f"node-{number:05d}", 1, uids, priority=-1))
    for number in range(gangs):
        events += _gang(f"gang-{number}", 2, 2)
    return events


def _scaled(options: QueueOptions, size: int) -> int:
    return max(2, int(size * options.scale))


def _machines(count: int, *, cpu: int = 128_000, gpus: int = 0) -> list[Event]:
    allocatable = {"cpu": cpu, "memory": 1024 * GIB, "pods": 250, **({GPU: gpus} if gpus else {})}
    return [MachineUpserted(Machine(f"node-{number:05d}", allocatable)) for number in range(count)]


def _pod(*, cpu: int = 100, gpus: int = 0, queue: str = "") -> TaskClass:
    return TaskClass(requests=((GPU, gpus),) if gpus else (("cpu", cpu),), queue=queue)


def _flavor() -> Event:
    return RecordUpserted(FLAVOR_RECORD, "any", json.dumps({"labels": {}}).encode())


def _quota(name: str, nominal: Mapping[str, Mapping[str, int]] | None = None, **stated: Any) -> Event:
    amounts = nominal or {}
    resources = list(dict.fromkeys(each for of in amounts.values() for each in of))
    groups = [{"resources": resources, "flavors": list(amounts)}] if amounts else []
    payload = {"flavors": groups, "nominal": amounts, **stated}
    return RecordUpserted(QUOTA_RECORD, name, json.dumps(payload).encode())


def _gang(name: str, size: int, number: int) -> list[Event]:
    uids = tuple(f"{name}-{each}" for each in range(size))
    return [JobDefined(Job(name, size=size, min_members=size)), TasksSubmitted(number, uids, job=name)]


# --- measurements ---------------------------------------------------------------------------------------------------


def _round(events: list[Event]) -> tuple[float, RoundResult]:
    """Return the processor seconds of a round on a fresh scheduler, and its result."""
    scheduler = Scheduler(
        configuration=CoreConfiguration(), solver=OrToolsSolver(), clock=time.time, timer=time.perf_counter
    )
    scheduler.apply(events)
    relax_garbage_collection()  # the solver process does the same
    keep_freed_memory()
    begin = time.process_time()
    result = scheduler.run_round()
    return time.process_time() - begin, result


def _measure(options: QueueOptions, events: list[Event]) -> dict[str, object]:
    """Return a round per run; the first warms up."""
    runs = [_round(events) for _ in range(options.runs + 1)][1:]
    result = runs[-1][1]
    return {
        "seconds": statistics.median(each for each, _ in runs),
        "all_seconds": [each for each, _ in runs],
        "placed": result.stats.placed,
        "victims": sum(delta.kind is DeltaKind.PREEMPT for delta in result.deltas),
        "waiting": sum(len(group.uids) for group in result.unscheduled),
    }


def _measure_idle(options: QueueOptions) -> dict[str, object]:
    """Return the time of rounds of pods without a queue in a cluster with quotas, relative to one without quotas."""
    plain: list[Event] = [*_machines(_scaled(options, 2_000)), ClassDefined(1, _pod())]
    pods = TasksSubmitted(1, tuple(f"pod-{n}" for n in range(_scaled(options, 5_000))))
    quotas = [_flavor(), *(_quota(f"queue-{n}", {"any": {"cpu": 1000}}) for n in range(20))]
    ratios = []
    for pair in range(options.pairs + 1):
        seconds = {}
        for present in (True, False) if pair % 2 else (False, True):
            seconds[present] = _round([*plain, *(quotas if present else ()), pods])[0]
        ratios.append(seconds[True] / seconds[False])
    return {"ratio": statistics.median(ratios[1:]), "all_ratios": ratios[1:]}
