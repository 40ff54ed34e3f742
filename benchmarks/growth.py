"""How a round grows: ten times the nodes, ten times the tasks, ten times the classes."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from benchmarks.algorithm import run_events
from benchmarks.declarative.loading import load_workload
from benchmarks.declarative.runner import Runner
from benchmarks.environment import environment
from benchmarks.targets.told import ToldEvents
from firmament.configuration.document import build_core, load
from firmament.core.configuration import CoreConfiguration
from firmament.memory import relax_garbage_collection
from firmament.solvers.ortools_solver import OrToolsSolver

FACTOR = 10


async def measure_growth(
    params: dict[str, int], *, runs: int, seed: int, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Return processor seconds of a burst at ``params`` (nodes, pods, classes of the basic workload), and
    with each tenfold.

    Each size is translated once; each run takes it into a core of its own and places the burst. Runs alternate between
    the sizes, so that a machine that becomes slower meanwhile spoils no ratio.
    """
    configuration, solver = build_core(load(None)), OrToolsSolver()
    sizes = {"base": dict(params)} | {name: {**params, name: params[name] * FACTOR} for name in params}
    relax_garbage_collection()  # millions of objects that stay
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
        "ratios": {name: medians[name] / medians["base"] for name in params},
    }


async def _describe_workload(size: dict[str, int], seed: int, configuration: CoreConfiguration) -> ToldEvents:
    """Return the basic workload at a size, as events for the core."""
    target = ToldEvents(configuration)
    await Runner(load_workload("basic", params=size, seed=seed), target).run()
    return target
