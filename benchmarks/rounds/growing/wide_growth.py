"""Measures how time and memory of a whole round grow from small clusters to very large ones."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import psutil

from benchmarks.algorithm import run_bursts
from benchmarks.child_processes import make_pool
from benchmarks.environment import environment
from benchmarks.rounds.growing.bridge_memory import measure_bridge_memory
from benchmarks.scenario import Scenario, machine_events, task_events
from firmament.core.configuration import CoreConfiguration
from firmament.solvers.ortools_solver import OrToolsSolver

CLIFF = 1.5
"""How many times as much as proportional growth a step may take."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A size that varies, its values, and the scenario whose other sizes stay."""

    values: Sequence[int]
    scenario: Scenario


AXES: Mapping[str, Axis] = MappingProxyType(
    {
        "nodes": Axis((1_000, 3_000, 10_000, 30_000, 100_000), Scenario()),
        "tasks": Axis(
            (1_000, 3_000, 10_000, 30_000, 100_000, 200_000, 500_000), Scenario(nodes=50_000, classes=100)
        ),
        "classes": Axis((10, 30, 100, 300, 1_000, 3_000, 10_000, 20_000), Scenario(tasks=40_000)),
    }
)
"""By the field of ``Scenario`` that varies."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Processor seconds to place a burst, for each run; MiB that the core takes for all it knows; tasks placed."""

    seconds: tuple[float, ...]
    mebibytes: float
    placed: int


def measure_wide_growth(
    axes: Mapping[str, Axis], *, runs: int, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Return time and memory at each value of each axis, each in a process of its own, with exponents of their growth.

    ``bridgeMiB``: what a bridge's state takes for as many nodes, pods and classes.

    ``ofLinear``: how many times as long as if the time had grown in proportion since the value before.
    """
    found = []
    for name, axis in axes.items():
        points: list[dict[str, Any]] = []
        for value in axis.values:
            progress(f"{value:,} {name}")
            varied: dict[str, Any] = {name: value}
            scenario = replace(axis.scenario, **varied)
            point = {"value": value, **_as_json(scenario, _measure_apart(scenario, runs))}
            points.append({**point, "bridgeMiB": _measure_bridge_apart(scenario)})
        for before, after in pairwise(points):
            times = after["value"] / before["value"]
            after["ofLinear"] = after["seconds"] / before["seconds"] / times
            after["steep"] = after["ofLinear"] > CLIFF
        first, last = points[0], points[-1]
        exponents = {
            key: math.log(last[key] / first[key]) / math.log(last["value"] / first["value"])
            for key in ("seconds", "coreMiB", "bridgeMiB")
            if first[key] > 0 and last[key] > 0
        }
        found.append({"axis": name, "points": points, "exponents": exponents})
    return {"kind": "wide-growth", "environment": environment(), "cliff": CLIFF, "results": found}


def _as_json(scenario: Scenario, measured: Measured) -> dict[str, Any]:
    return {
        "nodes": scenario.nodes,
        "tasks": scenario.tasks,
        "classes": scenario.classes,
        "placed": measured.placed,
        "seconds": statistics.median(measured.seconds),
        "allSeconds": list(measured.seconds),
        "coreMiB": measured.mebibytes,
    }


def _measure_apart(scenario: Scenario, runs: int) -> Measured:
    """Measure in a new process, so that no size finds the memory of another."""
    with make_pool(1) as pool:
        return pool.submit(measure_size, scenario, runs).result()


def _measure_bridge_apart(scenario: Scenario) -> float:
    """Measure what a bridge knows in a new process; see ``measure_bridge_memory``."""
    with make_pool(1) as pool:
        sizes = scenario.nodes, scenario.tasks, scenario.classes
        return pool.submit(measure_bridge_memory, *sizes).result()


def measure_size(scenario: Scenario, runs: int) -> Measured:
    """Place the scenario's tasks ``runs`` times after a first time that does not count."""
    cluster, burst = machine_events(scenario), task_events(scenario)
    process, seconds, placed = psutil.Process(), list[float](), 0
    before = after = process.memory_info().rss
    for run in run_bursts(cluster, [burst] * (runs + 1), OrToolsSolver(), CoreConfiguration()):
        seconds.append(run.processor_seconds)
        placed, after = run.placed, process.memory_info().rss
    return Measured(tuple(seconds[1:]), (after - before) / 2**20, placed)
