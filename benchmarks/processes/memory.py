"""Measures whether memory, threads and descriptors of solver and bridge stay constant over thousands of rounds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.declarative.loading import load_workload
from benchmarks.environment import environment
from benchmarks.measuring import MeasureOptions, measure_workload

PROCESSES = ("solver", "solver workers", "bridge")
WARM_UP = 0.2
"""Share of the run, at its beginning, that is not compared, as caches and pools fill."""


async def measure_memory(
    params: dict[str, int], *, seed: int, patience: float, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Run the churn workload end to end against the simulated cluster; ``patience``: seconds per wait."""
    workload = load_workload("churn", size="memory", params=params, seed=seed)
    options = MeasureOptions(runs=1, timeout=patience, progress=progress)
    (result,) = await measure_workload(workload, "end-to-end", options)
    (measured,) = result["measured"]
    series = measured["memory"]
    return {
        "kind": "memory",
        "environment": environment(),
        "params": result["params"],
        "seconds": measured["seconds"],
        "podsBound": measured["bound"],
        "peakMiB": {name: used["peakMiB"] for name, used in measured["usage"].items()},
        "series": series,
        "drift": {name: drift(series[name]) for name in PROCESSES if name in series},
        "rounds": measured["verified"].get("rounds"),
        **{kind: _find_settled(by_name) for kind, by_name in measured["counts"].items()},
    }


def _find_settled(by_name: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    """Return the maximum of each kind of process in the first and in the last fifth after the warm-up."""
    found = {}
    for name in PROCESSES:
        settled = by_name.get(name, ())[int(len(by_name.get(name, ())) * WARM_UP) :]
        part = len(settled) // 5
        if part:
            found[name] = [max(settled[:part]), max(settled[-part:])]
    return found


def drift(samples: Sequence[float]) -> float | None:
    """Return the median of the last fifth divided by that of the first fifth after the warm-up, minus 1; None if
    there are too few samples.
    """
    settled = samples[int(len(samples) * WARM_UP) :]
    part = len(settled) // 5
    if not part:
        return None
    return statistics.median(settled[-part:]) / statistics.median(settled[:part]) - 1
