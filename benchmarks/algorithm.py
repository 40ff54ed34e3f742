"""Measures the solver's core alone, in this process: whole rounds, from the snapshot to the deltas."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from firmament.core.configuration import CoreConfiguration
from firmament.core.events import BindingReport, Event, TaskRemoved, TasksSubmitted
from firmament.core.results import RoundStats
from firmament.core.scheduler import Scheduler
from firmament.memory import keep_freed_memory, relax_garbage_collection
from firmament.solvers.base import Solver


@dataclass(slots=True)
class AlgorithmRun:
    """One burst: seconds from its first snapshot to the last delta, and the figures of its rounds.

    ``processor_seconds``: processor time of this process in these seconds.
    """

    seconds: float = 0.0
    processor_seconds: float = 0.0
    ingest_seconds: float = 0.0
    placed: int = 0
    pending: int = 0
    rounds: list[RoundStats] = field(default_factory=list)


def run_events(
    cluster: list[Event], events: list[Event], solver: Solver, configuration: CoreConfiguration
) -> AlgorithmRun:
    """Place the tasks of ``events`` on a cluster in whole rounds, until no further task can be placed."""
    (run,) = run_bursts(cluster, [events], solver, configuration)
    return run


def run_bursts(
    cluster: list[Event], bursts: Iterable[list[Event]], solver: Solver, configuration: CoreConfiguration
) -> Iterator[AlgorithmRun]:
    """Place bursts on a cluster one after another, by one scheduler; return a run for each.

    All tasks of a burst end before the next burst comes.
    """
    scheduler = Scheduler(
        configuration=configuration, solver=solver, clock=time.time, timer=time.perf_counter
    )
    scheduler.apply(cluster)
    relax_garbage_collection()  # the solver process does the same
    keep_freed_memory()
    for events in bursts:
        yield _place(scheduler, events)
        submitted = (event.uids for event in events if isinstance(event, TasksSubmitted))
        scheduler.apply([TaskRemoved(uid) for uids in submitted for uid in uids])


def _place(scheduler: Scheduler, events: list[Event]) -> AlgorithmRun:
    """Run rounds until no further task can be placed; report every placement as bound at once."""
    run = AlgorithmRun()
    begin = time.perf_counter()
    scheduler.apply(events)
    run.ingest_seconds = time.perf_counter() - begin
    while scheduler.next_round_in() == 0.0:
        begin, used = time.perf_counter(), time.process_time()
        result = scheduler.run_round()
        run.seconds += time.perf_counter() - begin
        run.processor_seconds += time.process_time() - used
        run.rounds.append(result.stats)
        run.placed += result.stats.placed
        run.pending = result.stats.pending
        scheduler.report([BindingReport(delta.uid, delta.machine, bound=True) for delta in result.deltas])
    return run
