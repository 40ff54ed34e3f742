"""Measures tasks placed per second under each base policy, on a cluster with all inputs that policies use.

The rate counts whole rounds, from the snapshot of the cluster to the last delta; taking in the submitted tasks comes
before and is given as ``ingest_seconds``. Machines have racks, types and bandwidth; tasks have inputs, programs, kinds
and bandwidth requests; programs have histories. A policy that finds none of its inputs would be measured idle.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

import numpy as np

from benchmarks.algorithm import AlgorithmRun, run_events
from benchmarks.environment import environment
from benchmarks.scenario import GIB, Scenario, machine_events, task_events
from cost_models.registry import list_available, load_model
from firmament.configuration.document import BASE_POLICIES
from firmament.core.configuration import CoreConfiguration, WeightedModel
from firmament.core.events import ClassDefined, Event, MachineUpserted, RecordUpserted
from firmament.core.model import TaskClass
from firmament.solvers.ortools_solver import OrToolsSolver

MACHINES_PER_RACK = 40
BLOCKS = 20
COPIES = 3
PROGRAMS = 16
KINDS = ("Sheep", "Rabbit", "Devil", "Turtle")
TYPES = ("m5.large", "c5.xlarge", "r5.large")
GBIT = 10**9


def list_installed() -> list[str]:
    """Return names of the base policies that are installed."""
    return sorted(set(BASE_POLICIES) & set(list_available()))


def measure_policies(
    scenarios: Sequence[Scenario], policies: Sequence[str], *, runs: int, progress: Callable[[str], None]
) -> dict[str, object]:
    """Measure every policy on every scenario ``runs`` times after a warm-up; returns what ``-o json`` prints."""
    measured = []
    for scenario in scenarios:
        progress(f"{scenario.label}: preparing")
        cluster, waiting = policy_events(scenario)
        results = []
        for policy in policies:
            progress(f"{scenario.label}: {policy}")
            results.append(_measure(policy, cluster, waiting, runs))
        measured.append({"scenario": asdict(scenario), "label": scenario.label, "policies": results})
    return {"environment": environment(), "scenarios": measured}


def _measure(policy: str, cluster: list[Event], waiting: list[Event], runs: int) -> dict[str, object]:
    """Return medians over ``runs``; stages are those of the round that places the most tasks."""
    configuration = CoreConfiguration(policy=WeightedModel(load_model(policy, {})))
    solver = OrToolsSolver()
    done: list[AlgorithmRun] = [run_events(cluster, waiting, solver, configuration) for _ in range(runs + 1)]
    seconds = statistics.median(run.seconds for run in done[1:])
    last = done[-1]
    return {
        "policy": policy,
        "tasks_per_second": last.placed / seconds,
        "seconds": seconds,
        "all_seconds": [run.seconds for run in done[1:]],
        "ingest_seconds": statistics.median(run.ingest_seconds for run in done[1:]),
        "placed": last.placed,
        "pending": last.pending,
        "rounds": len(last.rounds),
        "stats": asdict(max(last.rounds, key=lambda stats: stats.placed)),
    }


def policy_events(scenario: Scenario) -> tuple[list[Event], list[Event]]:
    """Return the scenario's cluster and waiting tasks, with the inputs of all policies."""
    rng = np.random.default_rng(scenario.seed + 2)
    cluster: list[Event] = []
    names: list[str] = []
    for event in machine_events(scenario):
        if isinstance(event, MachineUpserted):
            cluster.append(_equip(event, len(names)))
            names.append(event.machine.name)
        else:
            cluster.append(_describe(event, names, rng))
    for number in range(PROGRAMS):
        history = {"count": 20, "meanSeconds": float(rng.integers(1, 600))}
        cluster.append(RecordUpserted("RuntimeHistory", f"program-{number}", json.dumps(history).encode()))
        cluster += [_sample(f"program-{number}", kind, float(rng.integers(10, 40))) for kind in TYPES]
    return cluster, [_describe(event, names, rng) for event in task_events(scenario)]


def _equip(event: MachineUpserted, row: int) -> MachineUpserted:
    """Return the machine with a rack, a type and bandwidth."""
    labels = {
        "topology.kubernetes.io/rack": f"rack-{row // MACHINES_PER_RACK}",
        "topology.kubernetes.io/zone": f"zone-{row % 3}",
        "node.kubernetes.io/instance-type": TYPES[row % len(TYPES)],
    }
    allocatable = {**event.machine.allocatable, "network.aware.com/bandwidth": 10 * GBIT}
    return MachineUpserted(replace(event.machine, labels=labels, allocatable=allocatable))


def _describe(event: Event, machines: Sequence[str], rng: np.random.Generator) -> Event:
    """Return a class event with a kind, a program, inputs and a bandwidth request; other events unchanged."""
    if not isinstance(event, ClassDefined):
        return event
    blocks = [
        {"bytes": GIB // 4, "machine": [machines[row] for row in rng.integers(0, len(machines), COPIES)]}
        for _ in range(BLOCKS)
    ]
    content: TaskClass = event.task_class
    labels = {
        **dict(content.labels),
        "taskType": KINDS[event.id % len(KINDS)],
        "networkRequirement": str(GBIT // 100),
    }
    annotations = {
        "firmament.io/inputs": json.dumps(blocks),
        "firmament.io/program": f"program-{event.id % PROGRAMS}",
    }
    return ClassDefined(
        event.id,
        replace(
            content, labels=tuple(sorted(labels.items())), annotations=tuple(sorted(annotations.items()))
        ),
    )


def _sample(program: str, machine_type: str, seconds: float) -> Event:
    sample = {
        "program": program,
        "machineType": machine_type,
        "runtimeSeconds": seconds,
        "instructions": 1e11,
    }
    return RecordUpserted("WhareMapSample", f"{program}-{machine_type}", json.dumps(sample).encode())
