"""Measures placements per second, stage by stage, over several runs; quote the medians."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.algorithm import AlgorithmRun, run_bursts
from benchmarks.environment import environment
from benchmarks.processes.grpc_stage import run_grpc, solver_process
from benchmarks.rounds.solver_alone import RecordingSolver, bare_seconds
from benchmarks.scenario import Scenario, machine_events, next_burst, task_events
from firmament.core.configuration import CoreConfiguration
from firmament.core.events import Event
from firmament.core.rules.default_spread import SYSTEM_DEFAULTS
from firmament.solvers.ortools_solver import OrToolsSolver

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ThroughputOptions:
    """``runs`` after a warm-up; ``bursts``: how many each run places, one after another; ``grpc``: whether to
    measure it too.
    """

    runs: int = 5
    bursts: int = 1
    grpc: bool = True
    progress: Progress = field(default=lambda _: None)


@dataclass(frozen=True, slots=True)
class BurstRun:
    """A burst: its number of networks, and processor seconds of the solver within it and of the solver alone."""

    run: AlgorithmRun
    networks: int
    solver_seconds: float
    bare_seconds: float


def measure(scenarios: Sequence[Scenario], options: ThroughputOptions) -> dict[str, Any]:
    """Measure every scenario; returns what ``--output json`` prints."""
    return {
        "kind": "throughput",
        "environment": environment(),
        "results": [_scenario(scenario, options) for scenario in scenarios],
    }


def _scenario(scenario: Scenario, options: ThroughputOptions) -> dict[str, object]:
    options.progress(f"{scenario.label}: preparing")
    cluster = machine_events(scenario)
    result: dict[str, object] = {"scenario": asdict(scenario), "label": scenario.label}
    options.progress(f"{scenario.label}: algorithm")
    result |= _algorithm(scenario, cluster, options)
    if options.grpc:
        options.progress(f"{scenario.label}: gRPC")
        result["grpc"] = _grpc(scenario, cluster, options.runs)
    return result


def _algorithm(scenario: Scenario, cluster: list[Event], options: ThroughputOptions) -> dict[str, object]:
    """Return ``algorithm``: figures of the first bursts of all runs; ``warm``: of later bursts, if any."""
    runs = [_run(scenario, cluster, options.bursts) for _ in range(options.runs + 1)][1:]
    figures: dict[str, object] = {"algorithm": _figures([bursts[0] for bursts in runs])}
    if options.bursts > 1:
        figures["warm"] = _figures([burst for bursts in runs for burst in bursts[1:]])
    return figures


def _run(scenario: Scenario, cluster: list[Event], bursts: int) -> list[BurstRun]:
    """Place ``bursts`` bursts, each with as many tasks as the scenario and of the same classes; then run the solver by
    itself.
    """
    plain = OrToolsSolver()
    solver = RecordingSolver(plain)
    events = (next_burst(scenario, number) if number else task_events(scenario) for number in range(bursts))
    configuration = CoreConfiguration(spread=SYSTEM_DEFAULTS if scenario.owners else ())
    runs = run_bursts(cluster, events, solver, configuration)
    done = [(run, *solver.take_networks()) for run in runs]
    return [
        BurstRun(run, len(networks), seconds, bare_seconds(networks, plain))
        for run, networks, seconds in done
    ]


def _figures(bursts: Sequence[BurstRun]) -> dict[str, object]:
    """Return medians over bursts; stages are those of the last one's round that places most.

    ``certified`` of all ``rounds`` have a certificate; ``gap`` is the largest.
    ``ratio``: whole rounds to the solver inside them; ``bare``: whole rounds to the same solver by itself on the same
    networks. Both compare processor seconds; None where the solver had nothing to do.
    """
    runs = [burst.run for burst in bursts]
    seconds = statistics.median(run.seconds for run in runs)
    rounds = [stats for run in runs for stats in run.rounds]
    main = max(runs[-1].rounds, key=lambda stats: stats.placed)
    return {
        "tasks_per_second": statistics.median(run.placed / run.seconds for run in runs),
        "seconds": seconds,
        "all_seconds": [run.seconds for run in runs],
        "processor_seconds": statistics.median(run.processor_seconds for run in runs),
        "solver_processor_seconds": statistics.median(burst.solver_seconds for burst in bursts),
        "bare_processor_seconds": statistics.median(burst.bare_seconds for burst in bursts),
        "networks": statistics.median(burst.networks for burst in bursts),
        "ratio": _ratio(runs, [burst.solver_seconds for burst in bursts]),
        "bare": _ratio(runs, [burst.bare_seconds for burst in bursts]),
        "placed": runs[-1].placed,
        "pending": runs[-1].pending,
        "rounds": len(rounds),
        "certified": sum(stats.certified for stats in rounds),
        "gap": max(stats.gap for stats in rounds),
        "stats": asdict(main),
    }


def _ratio(runs: Sequence[AlgorithmRun], seconds: Sequence[float]) -> float | None:
    """Return the median ratio of whole rounds to ``seconds``, burst by burst."""
    pairs = zip(runs, seconds, strict=True)
    ratios = [run.processor_seconds / each for run, each in pairs if each > 0]
    return statistics.median(ratios) if ratios else None


def _grpc(scenario: Scenario, cluster: list[Event], runs: int) -> dict[str, object]:
    with solver_process() as target:
        done = [run_grpc(scenario, target, number, cluster) for number in range(1, runs + 2)][1:]
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
