"""What NUMA fit costs: a round on machines with zones, and on machines without any record.

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
from cost_models.registry import load_model
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.model import (
    ClassDefined,
    Container,
    Event,
    Machine,
    MachineUpserted,
    RecordUpserted,
    TaskClass,
    TasksSubmitted,
)
from firmament.solvers.process_solver import ProcessSolver

GIB = 2**30
ZONE_CPU = 16_000
ZONE_MEMORY = 64 * GIB
ZONE_DEVICES = 4
DEVICE = "example.com/gpu"
KIND = "NodeResourceTopology"


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
    """Measure both; returns what ``-o json`` prints."""
    with contextlib.closing(ProcessSolver()) as solver:
        progress("zones: rounds with and without the overlay")
        zones = _zones(solver, options)
        progress("no records: rounds with and without the overlay")
        bare = _without_records(solver, options)
    return {
        "kind": "numa",
        "environment": environment(),
        "scenario": asdict(options.scenario),
        "containers": options.containers,
        "strategy": options.strategy,
        "zones": zones,
        "no_records": bare,
    }


def zoned_cluster(scenario: Scenario) -> list[Event]:
    """Machines of 2 to 8 zones, each zone filled to a level of its own, as their records say."""
    rng = np.random.default_rng(scenario.seed)
    events: list[Event] = []
    for index in range(scenario.nodes):
        count = int(rng.integers(2, 9))
        scope = "pod" if index % 4 == 0 else "container"
        allocatable = {
            "pods": 110,
            "cpu": ZONE_CPU * count,
            "memory": ZONE_MEMORY * count,
            DEVICE: ZONE_DEVICES * count,
        }
        zones = []
        for number in range(count):
            free = 1000 * int(rng.integers(0, 17)), GIB * int(rng.integers(0, 65)), int(rng.integers(0, 5))
            zones.append(
                {
                    "id": number,
                    "costs": {str(other): 10 if other == number else 21 for other in range(count)},
                    "resources": {
                        "cpu": {"capacity": ZONE_CPU, "available": free[0]},
                        "memory": {"capacity": ZONE_MEMORY, "available": free[1]},
                        DEVICE: {"capacity": ZONE_DEVICES, "available": free[2]},
                    },
                }
            )
        name = f"node-{index:05d}"
        payload = json.dumps({"policy": "single-numa-node", "scope": scope, "zones": zones})
        events += [
            MachineUpserted(Machine(name, allocatable)),
            RecordUpserted(KIND, name, payload.encode()),
        ]
    return events


def guaranteed_pods(scenario: Scenario, containers: int) -> list[Event]:
    """Pods of classes that differ in what 1 to ``containers`` containers ask for; every fourth class wants a device."""
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
    """Rounds on machines with zones, with the overlay and without it in turn; the first of each warms up."""
    cluster = zoned_cluster(options.scenario)
    waiting = guaranteed_pods(options.scenario, options.containers)
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


def _without_records(solver: ProcessSolver, options: NumaOptions) -> dict[str, object]:
    """Rounds on a half full cluster of which no zones are known, with and without the overlay."""
    scenario = replace(options.scenario, fill="0.5")
    cluster, waiting = machine_events(scenario), task_events(scenario)
    plain, overlay = _configuration(None), _configuration(options.strategy)
    ratios = []
    for pair in range(options.pairs + 1):
        # In turn, so that neither is always the one that follows a rest.
        order = (plain, overlay) if pair % 2 else (overlay, plain)
        took = {id(each): run_events(cluster, waiting, solver, each).seconds for each in order}
        if pair:
            ratios.append(took[id(overlay)] / took[id(plain)])
    return {"ratio": statistics.median(ratios), "ratios": ratios}
