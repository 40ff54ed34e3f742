"""Measures how a round's time grows with ten times the nodes, ten times the tasks, ten times the classes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from benchmarks.algorithm import run_events
from benchmarks.declarative.loading import load_workload
from benchmarks.declarative.runner import Runner
from benchmarks.environment import environment
from benchmarks.processes.start import StartOptions, run_start
from benchmarks.targets.recorded_events import RecordedEvents
from firmament.configuration.document import build_core, load
from firmament.core.configuration import CoreConfiguration
from firmament.memory import relax_garbage_collection
from firmament.solvers.ortools_solver import OrToolsSolver

FACTOR = 10
PROCESSES = ("bridge", "solver")
_PENDING = 5_000


async def measure_growth(
    params: dict[str, int], *, runs: int, seed: int, progress: Callable[[str], None], steps: int = 1
) -> dict[str, Any]:
    """Return processor seconds of a burst at ``params`` (nodes, pods, classes of the basic workload), and with each
    tenfold, ``steps`` times.

    Exponents say how the seconds grow with the size from one step to the next: 1 is proportional growth.

    Each size is translated once; each run takes it into a core of its own and places the burst. Runs alternate between
    the sizes, so that a machine that becomes slower meanwhile spoils no ratio.
    """
    configuration, solver = build_core(load(None)), OrToolsSolver()
    ways = {name: [name_step(name, step) for step in range(1, steps + 1)] for name in params}
    sizes = {"base": dict(params)} | {
        each: {**params, name: params[name] * FACTOR**step}
        for name, way in ways.items()
        for step, each in enumerate(way, 1)
    }
    relax_garbage_collection()  # millions of objects stay, which the collector need not visit
    told = {}
    for name, size in sizes.items():
        progress(f"{name}: preparing {size}")
        told[name] = await _describe_workload(size, seed, configuration)
    seconds: dict[str, list[float]] = {name: [] for name in sizes}
    for number in range(runs + 1):
        progress(f"run {number} of {runs}" if number else "warming up")
        for name, each in told.items():
            run = run_events(each.cluster, each.burst, solver, configuration)
            if number:
                seconds[name].append(run.processor_seconds)
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    return {
        "kind": "growth",
        "environment": environment(),
        "sizes": sizes,
        "seconds": medians,
        "allSeconds": seconds,
        "ratios": {name: each / medians["base"] for name, each in medians.items() if name != "base"},
        "exponents": _find_exponents(medians, ways.values()),
    }


def measure_memory_growth(
    report: dict[str, Any], *, seed: int, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Return the report of `measure_growth` with the most memory that bridge and solver take at each size.

    Both processes read the cluster from the simulated API server; nearly all pods run, a twentieth at most waits.
    """
    memory: dict[str, dict[str, float]] = {}
    for name, size in report["sizes"].items():
        progress(f"{name}: memory of both processes")
        pending = min(_PENDING, size["pods"] // 20)
        begun = run_start(StartOptions(**size, pending=pending, seed=seed), progress)
        used = begun["phases"]["burst"]["usage"]
        memory[name] = {each: used[each]["peakMiB"] for each in PROCESSES if each in used}
    kinds = ("nodes", "pods", "classes")
    ways = [[each for each in memory if each.partition(",")[0] == kind] for kind in kinds]
    exponents: dict[str, dict[str, float]] = {}
    for process in PROCESSES:
        taken = {name: used[process] for name, used in memory.items() if process in used}
        for name, exponent in _find_exponents(taken, ways).items():
            exponents.setdefault(name, {})[process] = exponent
    return {**report, "memoryMiB": memory, "memoryExponents": exponents}


def _find_exponents(found: Mapping[str, float], ways: Iterable[Sequence[str]]) -> dict[str, float]:
    """Return exponents by which a figure grows with the size, for each step in each direction."""
    return {
        after: math.log(found[after] / found[before], FACTOR)
        for way in ways
        for before, after in pairwise(["base", *way])
        if after in found
    }


def name_step(name: str, step: int) -> str:
    """Return the name of a size that differs from the base by ``step`` steps in ``name``."""
    return name if step == 1 else f"{name}, {step} times"


async def _describe_workload(
    size: dict[str, int], seed: int, configuration: CoreConfiguration
) -> RecordedEvents:
    """Return the basic workload at a size, as events for the core."""
    target = RecordedEvents(configuration)
    await Runner(load_workload("basic", params=size, seed=seed), target).run()
    return target
