"""Measures the cost of measured use: the ``load_threshold`` overlay in a round, and a stream of reports in the
solver.

Two measurements, each of pairs that follow each other so that a busy machine slows both:

* *overlay*: one round with and without the overlay, on machines that all have a report which names their tasks;
* *stream*: reports about all machines and tasks once per ``interval``. Its processor time, from bytes to columns, as a
  share of one core; and rounds beside such a stream, at its own pace in a thread under the scheduler's lock as in the
  server, against rounds without.
"""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace

import numpy as np

from benchmarks.algorithm import run_events
from benchmarks.environment import environment
from benchmarks.scenario import Scenario, machine_events, task_events
from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import BindingReport, ClassDefined, Event, MachineUpserted, TaskRemoved, TasksBound
from firmament.core.scheduler import Scheduler
from firmament.memory import keep_freed_memory, relax_garbage_collection
from firmament.solvers.process_solver import ProcessSolver
from firmament.wire.events import events_from_proto
from protos.firmament.v1 import scheduler_pb2 as pb

CLASS = "koord-prod"
RUNNING_SECONDS = 3600.0
"""Seconds that tasks have run: long enough for reports to show all of them."""

BATCH = 200
"""Reports per message: those that a bridge receives within a few milliseconds."""


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Options: ``pairs`` of rounds each; ``interval``: seconds between reports of a machine."""

    scenario: Scenario
    pairs: int = 11
    interval: float = 10.0


def measure_load(options: LoadOptions, *, progress: Callable[[str], None]) -> dict[str, object]:
    """Measure both; return what ``-o json`` prints."""
    progress("preparing")
    cluster = [_add_usage_facts(event) for event in machine_events(options.scenario)]
    waiting = [_add_usage_facts(event) for event in task_events(options.scenario)]
    with contextlib.closing(ProcessSolver()) as solver:
        progress("overlay: rounds with and without it")
        overlay = _overlay(cluster, waiting, solver, options)
        progress("stream: reports")
        stream = _stream(cluster, waiting, solver, options)
    return {
        "kind": "load",
        "environment": environment(),
        "label": options.scenario.label,
        "scenario": asdict(options.scenario),
        "interval": options.interval,
        "overlay": overlay,
        "stream": stream,
    }


def _add_usage_facts(event: Event) -> Event:
    """Return the event with what load-aware cost models read: the tasks' creation times and the classes' limits."""
    if isinstance(event, TasksBound):
        return replace(event, assigned=(time.time() - RUNNING_SECONDS,) * len(event.uids))
    if not isinstance(event, ClassDefined):
        return event
    content = event.task_class
    return ClassDefined(event.id, replace(content, limits=content.requests, service_class=CLASS))


def _configuration(*, overlay: bool) -> CoreConfiguration:
    # The thresholds exclude no machine, so both place the same number of tasks.
    model = load_model("load_threshold", {"usageThresholds": {"cpu": 95, "memory": 99}})
    return CoreConfiguration(overlays=(WeightedModel(model),) if overlay else ())


# --- the overlay ----------------------------------------------------------------------------------------------------


def _overlay(
    cluster: list[Event], waiting: list[Event], solver: ProcessSolver, options: LoadOptions
) -> dict[str, object]:
    """Return rounds on a cluster with reports for all machines, with and without the overlay in turn."""
    runs: dict[bool, list[float]] = {False: [], True: []}
    placed = {}
    for pair in range(options.pairs + 1):
        # Reports are made anew for each pair: on a busy machine those of the first pair would be too old for the last.
        batches = report_batches(cluster, time.time())
        reports = [event for batch in batches for event in events_from_proto(batch)]
        # Alternates within pairs too, so that memory and caches of the first round favour neither.
        for overlay in (False, True) if pair % 2 else (True, False):
            run = run_events([*cluster, *reports], waiting, solver, _configuration(overlay=overlay))
            placed[overlay] = run.placed
            if pair:  # the first pair warms up
                runs[overlay].append(run.seconds)
    ratios = [with_ / without for without, with_ in zip(runs[False], runs[True], strict=True)]
    return {
        "seconds_without": statistics.median(runs[False]),
        "seconds_with": statistics.median(runs[True]),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "placed_without": placed[False],
        "placed_with": placed[True],
    }


# --- the stream -----------------------------------------------------------------------------------------------------


def report_batches(cluster: list[Event], now: float) -> list[list[pb.Event]]:
    """Return one report per machine, with its tasks, in messages of ``BATCH`` reports.

    Every task uses a random share of its requests, so that fuller machines are used more, but not proportionally.
    """
    rng = np.random.default_rng(7)
    requested: dict[int, dict[str, int]] = {}
    tasks: dict[str, tuple[list[str], list[tuple[int, int]]]] = {}
    for event in cluster:
        if isinstance(event, ClassDefined):
            requested[event.id] = dict(event.task_class.requests)
        elif isinstance(event, MachineUpserted):
            tasks[event.machine.name] = ([], [])
        elif isinstance(event, TasksBound):
            amounts = requested[event.task_class]
            uids, amount_of = tasks[event.machine]
            uids.extend(event.uids)
            amount_of.extend([(amounts["cpu"], amounts["memory"])] * len(event.uids))
    events = []
    for name, (uids, amount_of) in tasks.items():
        offered = np.array(amount_of, dtype=np.float64).reshape(-1, 2)
        use = np.ceil(rng.uniform(0, 1, (len(uids), 2)) * offered)
        total = use.sum(axis=0)
        events.append(
            pb.Event(
                machine_sample=pb.MachineSample(
                    machine=name,
                    time=now,
                    usage=[
                        pb.Usage(resource="cpu", amount=float(total[0])),
                        pb.Usage(resource="memory", amount=float(total[1])),
                    ],
                    report_interval=60,
                    own_windows=True,
                    tasks=pb.TaskUsages(
                        tasks=uids,
                        resources=["cpu", "memory"],
                        amounts=use.ravel().tolist(),
                        prod=[True] * len(uids),
                    ),
                )
            )
        )
    return [events[begin : begin + BATCH] for begin in range(0, len(events), BATCH)]


def _stream(
    cluster: list[Event], waiting: list[Event], solver: ProcessSolver, options: LoadOptions
) -> dict[str, object]:
    scheduler = Scheduler(
        configuration=_configuration(overlay=True), solver=solver, clock=time.time, timer=time.perf_counter
    )
    scheduler.apply(cluster)
    relax_garbage_collection()  # the solver process does the same
    keep_freed_memory()
    messages = [
        pb.EventBatch(sequence=index + 1, events=batch).SerializeToString()
        for index, batch in enumerate(report_batches(cluster, time.time()))
    ]
    lock = threading.Lock()
    begin = time.process_time()
    for message in messages:
        _ingest(scheduler, lock, message)
    seconds = time.process_time() - begin
    tasks = sum(len(event.uids) for event in cluster if isinstance(event, TasksBound))
    rounds: dict[bool, list[float]] = {False: [], True: []}
    for pair in range(options.pairs + 1):
        for streaming in (False, True):
            with _Stream(scheduler, lock, messages, options.interval if streaming else None):
                seconds_of_round = _round(scheduler, lock, waiting)
            if pair:
                rounds[streaming].append(seconds_of_round)
    ratios = [with_ / without for without, with_ in zip(rounds[False], rounds[True], strict=True)]
    return {
        "machines": sum(isinstance(event, MachineUpserted) for event in cluster),
        "tasks": tasks,
        "ingest_seconds": seconds,
        "share_of_a_core": seconds / options.interval,
        "bytes": sum(map(len, messages)),
        "round_seconds_without": statistics.median(rounds[False]),
        "round_seconds_with": statistics.median(rounds[True]),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
    }


def _ingest(scheduler: Scheduler, lock: threading.Lock, message: bytes) -> None:
    """Do what the server does with a batch: parse, check, and apply it under the lock."""
    events = events_from_proto(pb.EventBatch.FromString(message).events)
    with lock:
        scheduler.apply(events)


def _round(scheduler: Scheduler, lock: threading.Lock, waiting: list[Event]) -> float:
    """Place the waiting tasks in rounds, as the server does, and remove them; return the rounds' seconds."""
    with lock:
        scheduler.apply(waiting)
    seconds, placed = 0.0, []
    while True:
        with lock:
            due = scheduler.next_round_in() == 0.0
        if not due:
            break
        begin = time.perf_counter()
        with lock:
            opened = scheduler.open_round()
        placement = opened.solve()
        with lock:
            result = scheduler.close_round(opened, placement)
        seconds += time.perf_counter() - begin
        placed += [delta.uid for delta in result.deltas]
        with lock:
            scheduler.report([BindingReport(delta.uid, delta.machine, bound=True) for delta in result.deltas])
    with lock:
        scheduler.apply([TaskRemoved(uid) for uid in _uids(waiting)])
    return seconds


def _uids(events: list[Event]) -> Iterator[str]:
    for event in events:
        yield from getattr(event, "uids", ())


class _Stream:
    """A thread that sends ``messages`` again and again, all of them once per ``interval`` seconds; None: never."""

    def __init__(
        self, scheduler: Scheduler, lock: threading.Lock, messages: list[bytes], interval: float | None
    ) -> None:
        self._scheduler = scheduler
        self._lock = lock
        self._messages = messages
        self._interval = interval
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        if self._interval is not None:
            self._thread = threading.Thread(target=self._run, args=(self._interval,), daemon=True)
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, interval: float) -> None:
        pause = interval / len(self._messages)
        due = time.monotonic()
        while True:
            for message in self._messages:
                _ingest(self._scheduler, self._lock, message)
                due += pause
                if self._stop.wait(max(0.0, due - time.monotonic())):
                    return
