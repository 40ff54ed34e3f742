"""Placements per second, stage by stage, over several runs; medians are what to quote."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import asdict
from itertools import count

from benchmarks.algorithm import run_algorithm
from benchmarks.environment import environment
from benchmarks.grpc_stage import run_grpc, solver_process
from benchmarks.scenario import Scenario, machine_events
from firmament.core.events import Event
from firmament.solvers.ortools_solver import OrToolsSolver

Progress = Callable[[str], None]


def measure(scenarios: list[Scenario], *, runs: int, grpc: bool, progress: Progress) -> dict[str, object]:
    """Measure every scenario ``runs`` times after a warm-up; returns what ``--output json`` prints."""
    return {
        "environment": environment(),
        "results": [_scenario(scenario, runs=runs, grpc=grpc, progress=progress) for scenario in scenarios],
    }


def _scenario(scenario: Scenario, *, runs: int, grpc: bool, progress: Progress) -> dict[str, object]:
    progress(f"{scenario.label}: preparing")
    cluster = machine_events(scenario)
    result: dict[str, object] = {"scenario": asdict(scenario), "label": scenario.label}
    progress(f"{scenario.label}: algorithm")
    result["algorithm"] = _algorithm(scenario, cluster, runs)
    if grpc:
        progress(f"{scenario.label}: gRPC")
        result["grpc"] = _grpc(scenario, cluster, runs)
    return result


def _algorithm(scenario: Scenario, cluster: list[Event], runs: int) -> dict[str, object]:
    """Medians over ``runs``; stages are those of the round that places most."""
    solver = OrToolsSolver()
    done = [run_algorithm(scenario, solver, cluster) for _ in range(runs + 1)][1:]
    seconds = statistics.median(run.seconds for run in done)
    main = max(done[-1].rounds, key=lambda stats: stats.placed)
    return {
        "tasks_per_second": done[-1].placed / seconds,
        "seconds": seconds,
        "all_seconds": [run.seconds for run in done],
        "placed": done[-1].placed,
        "pending": done[-1].pending,
        "rounds": len(done[-1].rounds),
        "certified": main.certified,
        "gap": main.gap,
        "stats": asdict(main),
    }


def _grpc(scenario: Scenario, cluster: list[Event], runs: int) -> dict[str, object]:
    numbers = count(1)
    with solver_process() as target:
        done = [run_grpc(scenario, target, f"benchmark-{next(numbers)}", cluster) for _ in range(runs + 1)][
            1:
        ]
    seconds = statistics.median(run.seconds for run in done)
    ingest = statistics.median(run.ingest_seconds for run in done)
    return {
        "tasks_per_second": done[-1].placed / seconds,
        "seconds": seconds,
        "all_seconds": [run.seconds for run in done],
        "placed": done[-1].placed,
        "rounds": done[-1].rounds,
        "ingest_objects_per_second": done[-1].ingest_objects / ingest,
        "slowest_health_check_seconds": max(run.slowest_health_check for run in done),
    }
