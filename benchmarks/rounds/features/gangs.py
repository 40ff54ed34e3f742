"""Measures rounds with gangs: with room for all of them, and with room for some.

Whole rounds of the core, snapshot to deltas. With room for some only, the gangs that get places are counted,
and any gangs that are placed only in part.
"""

from __future__ import annotations

import contextlib
import itertools
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from benchmarks.environment import environment
from firmament.core.configuration import CoreConfiguration
from firmament.core.events import ClassDefined, Event, JobDefined, MachineUpserted, TasksBound, TasksSubmitted
from firmament.core.model import Job, Machine, Requirement, SpreadRule, TaskClass, TaskSelector, TaskTerm
from firmament.core.scheduler import Scheduler
from firmament.memory import keep_freed_memory, relax_garbage_collection
from firmament.solvers.base import Solver
from firmament.solvers.process_solver import ProcessSolver

GIB = 2**30
CORES = 32
FILLER = 1_000_000
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
ZONES = 10


@dataclass(frozen=True, slots=True)
class GangOptions:
    """A measurement of gangs."""

    nodes: int = 5000
    """Machines."""
    gangs: int = 500
    """Number of gangs."""
    size: int = 20
    """Tasks per gang."""
    kinds: int = 10
    """Classes of tasks."""
    room: int = 400
    """Number of gangs that fit in the second measurement."""
    rule: str = "none"
    """Rule between the tasks of a gang, which then has tasks of all classes; without a rule, of one class."""
    runs: int = 5
    """Runs of each measurement."""
    seed: int = 1
    """Seed of the draws."""


def measure_gangs(options: GangOptions, *, progress: Callable[[str], None]) -> dict[str, object]:
    """Measure both cases; return what ``-o json`` prints."""
    with contextlib.closing(ProcessSolver()) as solver:
        progress("room for all gangs")
        plenty = _measure(solver, options, draw_mixed_cluster(options))
        progress(f"room for {options.room} of them")
        scarce = _measure(solver, options, exact_cluster(options))
    return {
        "kind": "gangs",
        "environment": environment(),
        "options": asdict(options),
        "room_for_all": plenty,
        "room_for_some": scarce,
    }


def draw_mixed_cluster(options: GangOptions) -> list[Event]:
    """Return half-full machines, no two alike."""
    rng = np.random.default_rng(options.seed)
    events: list[Event] = [ClassDefined(FILLER, TaskClass(requests=(("cpu", 100), ("memory", GIB // 4))))]
    for index in range(options.nodes):
        name = f"node-{index:05d}"
        taken = int(rng.integers(0, 320))
        events.append(MachineUpserted(_machine(name, CORES * 1000)))
        if taken:
            events.append(TasksBound(name, FILLER, tuple(f"filler-{index}-{n}" for n in range(taken))))
    return events


def exact_cluster(options: GangOptions) -> list[Event]:
    """Return machines with as many cores as ``room`` gangs of one-core tasks need."""
    cores, rest = divmod(options.room * options.size, options.nodes)
    return [
        MachineUpserted(_machine(f"node-{index:05d}", 1000 * (cores + (index < rest))))
        for index in range(options.nodes)
    ]


def _machine(name: str, cpu: int) -> Machine:
    labels = {HOST: name, ZONE: f"zone-{int(name.rpartition('-')[2]) % ZONES}"}
    return Machine(name, {"cpu": cpu, "memory": 128 * GIB, "pods": 500}, labels=labels)


def gang_events(options: GangOptions) -> list[Event]:
    """Return the events that submit the gangs; a task takes one core."""
    return _plain_gangs(options) if options.rule == "none" else _draw_ruled_gangs(options)


def _draw_ruled_gangs(options: GangOptions) -> list[Event]:
    """Return gangs within one zone, with tasks of a class on different machines, or with each class spread over
    zones.
    """
    events: list[Event] = []
    numbers = itertools.count(1)
    for gang in range(options.gangs):
        job = f"gang-{gang}"
        events.append(JobDefined(Job(job, name=job, min_members=options.size)))
        for kind in range(options.kinds):
            number, own = next(numbers), _selector("kind", f"{job}-{kind}")
            content = TaskClass(
                requests=(("cpu", 1000), ("memory", (kind + 1) * GIB // 4)),
                labels=(("gang", job), ("kind", f"{job}-{kind}")),
                affinity=(TaskTerm(ZONE, _selector("gang", job)),) if options.rule == "together" else (),
                anti_affinity=(TaskTerm(HOST, own),) if options.rule == "apart" else (),
                spread=(SpreadRule(ZONE, own, 1, required=True),) if options.rule == "spread" else (),
            )
            events.append(ClassDefined(number, content))
            uids = tuple(f"{job}-{member}" for member in range(kind, options.size, options.kinds))
            events.append(TasksSubmitted(number, uids, job=job))
    return events


def _selector(key: str, value: str) -> TaskSelector:
    return TaskSelector(labels=(Requirement(key, "In", (value,)),))


def _plain_gangs(options: GangOptions) -> list[Event]:
    """Return gangs of one class of task each."""
    events: list[Event] = []
    for kind in range(options.kinds):
        requests = (("cpu", 1000), ("memory", (kind + 1) * GIB // 4))
        events.append(ClassDefined(kind + 1, TaskClass(requests=requests, labels=(("kind", str(kind)),))))
    for gang in range(options.gangs):
        job = f"gang-{gang}"
        events.append(JobDefined(Job(job, name=job, min_members=options.size)))
        uids = tuple(f"{job}-{member}" for member in range(options.size))
        events.append(TasksSubmitted(gang % options.kinds + 1, uids, job=job))
    return events


def _measure(solver: Solver, options: GangOptions, cluster: list[Event]) -> dict[str, object]:
    """Return a round per run on a fresh scheduler; the first run warms up."""
    seconds, result = [], None
    for number in range(options.runs + 1):
        scheduler = Scheduler(
            configuration=CoreConfiguration(), solver=solver, clock=time.time, timer=time.perf_counter
        )
        scheduler.apply(cluster)
        scheduler.apply(gang_events(options))
        relax_garbage_collection()  # the solver process does the same
        keep_freed_memory()
        begin = time.perf_counter()
        result = scheduler.run_round()
        if number:
            seconds.append(time.perf_counter() - begin)
    assert result is not None
    per_gang: dict[str, int] = {}
    for delta in result.deltas:
        job = delta.uid.rpartition("-")[0]
        per_gang[job] = per_gang.get(job, 0) + 1
    return {
        "seconds": statistics.median(seconds),
        "all_seconds": seconds,
        "placed": len(result.deltas),
        "pods_per_second": len(result.deltas) / statistics.median(seconds),
        "decided_per_second": options.gangs * options.size / statistics.median(seconds),
        "gangs_placed": sum(count == options.size for count in per_gang.values()),
        "gangs_split": sum(count < options.size for count in per_gang.values()),
        "stats": asdict(result.stats),
    }
