"""How a round grows: ten times the nodes, ten times the tasks, ten times the classes."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

from benchmarks.declarative.loading import load_workload
from benchmarks.declarative.runner import Runner
from benchmarks.environment import environment
from benchmarks.targets.algorithm import AlgorithmTarget
from firmament.configuration import build_core, load

FACTOR = 10


async def measure_growth(
    params: dict[str, int], *, runs: int, seed: int, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Seconds of a burst at ``params`` (nodes, pods, classes of the basic workload), and with each tenfold.

    Runs alternate between the sizes, so that a machine that becomes slower meanwhile spoils no ratio.
    """
    sizes = {"base": dict(params)} | {name: {**params, name: params[name] * FACTOR} for name in params}
    seconds: dict[str, list[float]] = {name: [] for name in sizes}
    for number in range(runs + 1):
        for name, size in sizes.items():
            if number == 0:
                progress(f"{name}: {size}")
            workload = load_workload("basic", params=size, seed=seed)
            target = AlgorithmTarget(build_core(load(None)))
            (measured,) = await Runner(workload, target).run()
            if number:
                seconds[name].append(measured.figures.seconds)
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    return {
        "kind": "growth",
        "environment": environment(),
        "sizes": sizes,
        "seconds": medians,
        "allSeconds": seconds,
        "ratios": {name: medians[name] / medians["base"] for name in params},
    }
