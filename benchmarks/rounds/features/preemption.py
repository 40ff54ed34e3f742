"""Measures preemption in one round, and its cost in rounds without possible victims.

* *equal*: kube-scheduler's PreemptionBasic: 4 running pods of 900 milli-cores on each machine of 4 cores, and pods of 3
  cores for whom three of them have to go;
* *mixed*: running pods of many sizes and priorities, and preemptors in many classes;
* *idle*: rounds with room for all and nobody less important, with preemption and without, in pairs that follow each
  other so that a busy machine slows both.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from benchmarks.environment import environment
from firmament.core.configuration import CoreConfiguration, RoundOptions
from firmament.core.events import ClassDefined, Event, MachineUpserted, TasksBound, TasksSubmitted
from firmament.core.model import Machine, TaskClass
from firmament.core.results import DeltaKind, RoundResult
from firmament.core.scheduler import Scheduler
from firmament.memory import keep_freed_memory, relax_garbage_collection
from firmament.solvers.base import Solver
from firmament.solvers.process_solver import ProcessSolver

GIB = 2**30
MEMORY = GIB // 2


@dataclass(frozen=True, slots=True)
class PreemptionOptions:
    """A measurement of preemption."""

    nodes: int = 5000
    """Machines."""
    running: int = 4
    """Running pods per machine."""
    preemptors: int = 5000
    """Number of pods that preempt."""
    classes: int = 20
    """Classes of preemptors, if they are mixed."""
    runs: int = 3
    """Runs of each measurement."""
    pairs: int = 10
    """Pairs of alternating runs."""
    seed: int = 1
    """Seed of the draws."""


def measure_preemption(options: PreemptionOptions, *, progress: Callable[[str], None]) -> dict[str, object]:
    """Measure all three cases; return what ``-o json`` prints."""
    with contextlib.closing(ProcessSolver()) as solver:
        progress("equal victims, one class of preemptors")
        equal = _measure(solver, options, [*equal_cluster(options), *_preemptors(options, [3000])])
        progress("mixed victims and preemptors")
        mixed = _measure(solver, options, draw_mixed_events(options))
        progress("nobody to evict: rounds with and without preemption")
        idle = _idle(solver, options)
    return {
        "kind": "preemption",
        "environment": environment(),
        "options": asdict(options),
        "equal": equal,
        "mixed": mixed,
        "idle": idle,
    }


def equal_cluster(options: PreemptionOptions) -> list[Event]:
    """Return machines of 4 cores with equal pods on them."""
    events = _machines(options, 4000)
    events.append(_class(1, 3600 // options.running))
    for index in range(options.nodes):
        uids = tuple(f"running-{index}-{n}" for n in range(options.running))
        events.append(TasksBound(f"node-{index:05d}", 1, uids))
    return events


def draw_mixed_events(options: PreemptionOptions) -> list[Event]:
    """Return pods of 100 to 1,600 milli-cores and five priorities; preemptors of 500 to 3,000."""
    rng = np.random.default_rng(options.seed)
    events = [*_machines(options, 4000), *(_class(number, 100 * number) for number in range(1, 17))]
    for index in range(options.nodes):
        left = 4000
        for n in range(4 * options.running):
            size = int(rng.integers(1, 17))
            left -= 100 * size
            if left < 0:
                break
            uid = f"running-{index}-{n}"
            events.append(
                TasksBound(
                    f"node-{index:05d}", size, (uid,), priority=int(rng.integers(0, 5)), assigned=(n + 1.0,)
                )
            )
    sizes = rng.integers(5, 31, options.classes) * 100
    return [*events, *_preemptors(options, sizes.tolist())]


def _preemptors(options: PreemptionOptions, sizes: list[int]) -> list[Event]:
    events: list[Event] = []
    for number, size in enumerate(sizes):
        count = options.preemptors // len(sizes) + (number < options.preemptors % len(sizes))
        uids = tuple(f"preemptor-{number}-{n}" for n in range(count))
        events += [_class(100 + number, size), TasksSubmitted(100 + number, uids, priority=100)]
    return events


def _machines(options: PreemptionOptions, cpu: int) -> list[Event]:
    allocatable = {"cpu": cpu, "memory": 32 * GIB, "pods": 110}
    return [MachineUpserted(Machine(f"node-{index:05d}", allocatable)) for index in range(options.nodes)]


def _class(number: int, cpu: int) -> ClassDefined:
    return ClassDefined(number, TaskClass(requests=(("cpu", cpu), ("memory", MEMORY))))


def _round(solver: Solver, events: list[Event], *, preemption: bool = True) -> tuple[float, RoundResult]:
    """Return the seconds of a round on a fresh scheduler, and its result."""
    configuration = CoreConfiguration(options=RoundOptions(preemption=preemption))
    scheduler = Scheduler(
        configuration=configuration, solver=solver, clock=time.time, timer=time.perf_counter
    )
    scheduler.apply(events)
    relax_garbage_collection()  # the solver process does the same
    keep_freed_memory()
    begin = time.perf_counter()
    result = scheduler.run_round()
    return time.perf_counter() - begin, result


def _measure(solver: Solver, options: PreemptionOptions, events: list[Event]) -> dict[str, object]:
    """Return a round per run; the first warms up."""
    runs = [_round(solver, events) for _ in range(options.runs + 1)][1:]
    seconds = statistics.median(each for each, _ in runs)
    result = runs[-1][1]
    victims = sum(delta.kind is DeltaKind.PREEMPT for delta in result.deltas)
    return {
        "seconds": seconds,
        "all_seconds": [each for each, _ in runs],
        "placed": result.stats.placed,
        "victims": victims,
        "pods_per_second": result.stats.placed / seconds,
        "stats": asdict(result.stats),
    }


def _idle(solver: Solver, options: PreemptionOptions) -> dict[str, object]:
    """Return the time of rounds that may preempt but have no victims, relative to rounds that may not preempt."""
    events = [*equal_cluster(options), _class(2, 100), TasksSubmitted(2, tuple(f"t{n}" for n in range(5000)))]
    ratios = []
    for pair in range(options.pairs + 1):
        order = (True, False) if pair % 2 else (False, True)
        seconds = {preemption: _round(solver, events, preemption=preemption)[0] for preemption in order}
        ratios.append(seconds[True] / seconds[False])
    return {"ratio": statistics.median(ratios[1:]), "all_ratios": ratios[1:]}
