"""Measures the cost of the overlay NUMA fit: rounds on machines with zones, and on machines without records.

Two measurements:

* *zones*: guaranteed pods on machines of 2 to 8 zones, partly full; whole rounds of the core, snapshot to deltas, and
  the same rounds without the overlay;
* *no records*: the overlay on a cluster that has none, against rounds without it, in pairs that follow each other so
  that a busy machine slows both.
"""

from __future__ import annotations

import contextlib
import json
import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np

from benchmarks.algorithm import run_events
from benchmarks.environment import environment
from benchmarks.scenario import Scenario, machine_events, task_events
from cost_models.interface import Int64
from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import (
    ClassDefined,
    Event,
    MachineUpserted,
    RecordUpserted,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Container, Machine, TaskClass
from firmament.solvers.process_solver import ProcessSolver

GIB = 2**30
DEVICE = "example.com/gpu"
KIND = "NodeResourceTopology"

ZONE = {"cpu": 16_000, "memory": 64 * GIB, DEVICE: 4}
"""Amounts that a zone offers."""

RESIDENTS = ((1_000, 2 * GIB, 0), (2_000, 8 * GIB, 0), (4_000, 16 * GIB, 1), (6_000, 30 * GIB, 0))
"""Requests of pods that run already, for each resource of ``ZONE``."""

MOST_RESIDENTS = 6
FIRST_RESIDENT = 1_000_000


@dataclass(frozen=True, slots=True)
class NumaOptions:
    """``scenario``: its number of nodes, tasks and classes; ``runs`` of the first measurement, ``pairs`` of the other.

    ``containers``: at most so many per pod.
    """

    scenario: Scenario
    runs: int = 5
    pairs: int = 20
    containers: int = 1
    strategy: str = "LeastAllocated"


def measure_numa(options: NumaOptions, *, progress: Callable[[str], None]) -> dict[str, object]:
    """Measure both; return what ``-o json`` prints."""
    with contextlib.closing(ProcessSolver()) as solver:
        progress("zones: rounds with and without the overlay")
        zones = _zones(solver, options)
        progress("no records: rounds with and without the overlay")
        bare = _measure_without_records(solver, options)
    return {
        "kind": "numa",
        "environment": environment(),
        "scenario": asdict(options.scenario),
        "containers": options.containers,
        "strategy": options.strategy,
        "zones": zones,
        "no_records": bare,
    }


def draw_zoned_cluster(scenario: Scenario) -> list[Event]:
    """Return machines of 2 to 8 zones, each zone filled to a level of its own by running pods, as their records say."""
    rng = np.random.default_rng(scenario.seed)
    events: list[Event] = [
        ClassDefined(FIRST_RESIDENT + number, _alone(_requests(*kind)))
        for number, kind in enumerate(RESIDENTS)
    ]
    for index in range(scenario.nodes):
        count = int(rng.integers(2, 9))
        scope = "pod" if index % 4 == 0 else "container"
        allocatable = {"pods": 110, **{name: amount * count for name, amount in ZONE.items()}}
        there = np.zeros(len(RESIDENTS), dtype=np.int64)
        zones = []
        for number in range(count):
            running = _residents(rng)
            there += running
            taken = running @ np.array(RESIDENTS)
            zones.append(
                {
                    "id": number,
                    "costs": {str(other): 10 if other == number else 21 for other in range(count)},
                    "resources": {
                        name: {"capacity": amount, "available": amount - int(used)}
                        for (name, amount), used in zip(ZONE.items(), taken, strict=True)
                    },
                }
            )
        name = f"node-{index:05d}"
        events.append(MachineUpserted(Machine(name, allocatable)))
        events += [
            TasksBound(name, FIRST_RESIDENT + kind, tuple(f"{name}-{kind}-{copy}" for copy in range(number)))
            for kind, number in enumerate(there.tolist())
            if number
        ]
        payload = json.dumps({"policy": "single-numa-node", "scope": scope, "zones": zones})
        events.append(RecordUpserted(KIND, name, payload.encode()))
    return events


def _residents(rng: np.random.Generator) -> Int64:
    """Return how many pods of each of ``RESIDENTS`` run in a zone: as many as stay below a drawn level."""
    limit = np.array(list(ZONE.values())) * rng.random()
    there, used = np.zeros(len(RESIDENTS), dtype=np.int64), np.zeros(len(ZONE))
    for kind in rng.integers(0, len(RESIDENTS), size=MOST_RESIDENTS).tolist():
        if (used + RESIDENTS[kind] <= limit).all():
            there[kind] += 1
            used += RESIDENTS[kind]
    return there


def _requests(cpu: int, memory: int, devices: int) -> dict[str, int]:
    amounts = dict(zip(ZONE, (cpu, memory, devices), strict=True))
    return {name: amount for name, amount in amounts.items() if amount}


def _alone(asked: dict[str, int]) -> TaskClass:
    """Return a guaranteed pod of one container."""
    requests = tuple(sorted(asked.items()))
    return TaskClass(requests=requests, containers=(Container("c0", "app", requests),), qos="Guaranteed")


def draw_guaranteed_pods(scenario: Scenario, containers: int) -> list[Event]:
    """Return pods of classes that differ in the requests of 1 to ``containers`` containers; every fourth wants a
    device.
    """
    rng = np.random.default_rng(scenario.seed + 1)
    events: list[Event] = []
    for number in range(scenario.classes):
        parts = []
        for index in range(int(rng.integers(1, containers + 1))):
            asked = {"cpu": 1000 * int(rng.integers(1, 5)), "memory": GIB * int(rng.integers(1, 9))}
            if number % 4 == 0 and index == 0:
                asked[DEVICE] = 1
            parts.append(Container(f"c{index}", "app", tuple(sorted(asked.items()))))
        total: dict[str, int] = {}
        for part in parts:
            for name, amount in part.requests:
                total[name] = total.get(name, 0) + amount
        content = TaskClass(requests=tuple(sorted(total.items())), containers=tuple(parts), qos="Guaranteed")
        count = scenario.tasks // scenario.classes + (number < scenario.tasks % scenario.classes)
        uids = tuple(f"pod-{number}-{index}" for index in range(count))
        events.append(ClassDefined(number + 1, content))
        if uids:
            events.append(TasksSubmitted(number + 1, uids))
    return events


def _configuration(strategy: str | None) -> CoreConfiguration:
    if strategy is None:
        return CoreConfiguration()
    model = load_model("numa_fit", {"scoringStrategy": {"type": strategy}})
    return CoreConfiguration(overlays=(WeightedModel(model, 2),))


def _zones(solver: ProcessSolver, options: NumaOptions) -> dict[str, object]:
    """Return rounds on machines with zones, with and without the overlay in turn; the first of each warms up."""
    cluster = draw_zoned_cluster(options.scenario)
    waiting = draw_guaranteed_pods(options.scenario, options.containers)
    configurations = {"with": _configuration(options.strategy), "without": _configuration(None)}
    seconds: dict[str, list[float]] = {"with": [], "without": []}
    last = {}
    for number in range(options.runs + 1):
        for name, configuration in configurations.items():
            run = run_events(cluster, waiting, solver, configuration)
            last[name] = run
            if number:
                seconds[name].append(run.seconds)
    median = {name: statistics.median(each) for name, each in seconds.items()}
    return {
        "pods_per_second": last["with"].placed / median["with"],
        "seconds_with": median["with"],
        "seconds_without": median["without"],
        "all_seconds": seconds["with"],
        "placed": last["with"].placed,
        "pending": last["with"].pending,
        "rounds": len(last["with"].rounds),
        "stats": asdict(max(last["with"].rounds, key=lambda stats: stats.placed)),
    }


def _measure_without_records(solver: ProcessSolver, options: NumaOptions) -> dict[str, object]:
    """Return rounds on a half-full cluster without records of zones, with and without the overlay."""
    scenario = replace(options.scenario, fill="0.5")
    cluster, waiting = machine_events(scenario), task_events(scenario)
    plain, overlay = _configuration(None), _configuration(options.strategy)
    ratios = []
    for pair in range(options.pairs + 1):
        # Alternates, so that neither is always the one that follows a pause.
        order = (plain, overlay) if pair % 2 else (overlay, plain)
        took = {id(each): run_events(cluster, waiting, solver, each).seconds for each in order}
        if pair:
            ratios.append(took[id(overlay)] / took[id(plain)])
    return {"ratio": statistics.median(ratios), "ratios": ratios}
