"""How a round grows: ten times the nodes, ten times the tasks, ten times the classes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from itertools import pairwise
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
    params: dict[str, int], *, runs: int, seed: int, progress: Callable[[str], None], steps: int = 1
) -> dict[str, Any]:
    """Return processor seconds of a burst at ``params`` (nodes, pods, classes of the basic workload), and with each
    tenfold, ``steps`` times.

    Exponents say how much steeper than the size the seconds grow from one step to the next: 1 is in proportion.

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
        "ratios": {name: each / medians["base"] for name, each in medians.items() if name != "base"},
        "exponents": {
            after: math.log(medians[after] / medians[before], FACTOR)
            for way in ways.values()
            for before, after in pairwise(["base", *way])
        },
    }


def name_step(name: str, step: int) -> str:
    """Return how a size is called that differs from the base by so many steps in one thing."""
    return name if step == 1 else f"{name}, {step} times"


async def _describe_workload(size: dict[str, int], seed: int, configuration: CoreConfiguration) -> ToldEvents:
    """Return the basic workload at a size, as events for the core."""
    target = ToldEvents(configuration)
    await Runner(load_workload("basic", params=size, seed=seed), target).run()
    return target
