"""The core by itself: snapshot to deltas, in this process."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from benchmarks.scenario import Scenario, machine_events, task_events
from firmament.core.configuration import CoreConfiguration
from firmament.core.events import BindingReport, Event
from firmament.core.results import RoundStats
from firmament.core.scheduler import Scheduler
from firmament.memory import keep_freed_memory, relax_garbage_collection
from firmament.solvers.base import Solver


@dataclass(slots=True)
class AlgorithmRun:
    """One run: seconds from the first snapshot to the last delta, and the figures of its rounds."""

    seconds: float = 0.0
    ingest_seconds: float = 0.0
    placed: int = 0
    pending: int = 0
    rounds: list[RoundStats] = field(default_factory=list)


def run_algorithm(scenario: Scenario, solver: Solver, cluster: list[Event] | None = None) -> AlgorithmRun:
    """Place a scenario's tasks in whole rounds until nothing is left to try."""
    machines = machine_events(scenario) if cluster is None else cluster
    return run_events(machines, task_events(scenario), solver, CoreConfiguration())


def run_events(
    cluster: list[Event], events: list[Event], solver: Solver, configuration: CoreConfiguration
) -> AlgorithmRun:
    """Place the tasks of ``events`` on a cluster in whole rounds until nothing is left to try."""
    scheduler = Scheduler(
        configuration=configuration, solver=solver, clock=time.time, timer=time.perf_counter
    )
    scheduler.apply(cluster)
    relax_garbage_collection()  # as the solver process does
    keep_freed_memory()
    run = AlgorithmRun()
    begin = time.perf_counter()
    scheduler.apply(events)
    run.ingest_seconds = time.perf_counter() - begin
    while scheduler.next_round_in() == 0.0:
        begin = time.perf_counter()
        result = scheduler.run_round()
        run.seconds += time.perf_counter() - begin
        run.rounds.append(result.stats)
        run.placed += result.stats.placed
        run.pending = result.stats.pending
        scheduler.report([BindingReport(delta.uid, delta.machine, bound=True) for delta in result.deltas])
    return run
