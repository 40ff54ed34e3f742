"""Measures all that the harness can measure: at small sizes, as ``make bench`` does, or at full sizes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.declarative.loading import Workload, load_workload
from benchmarks.environment import environment
from benchmarks.measuring import MeasureOptions, Stage, measure_workload
from benchmarks.quality.comparing import comparators, compare
from benchmarks.quality.optimum import measure_optimum
from benchmarks.rounds.growing.growth import measure_growth

RULES = (
    "anti-affinity",
    "affinity",
    "preferred-affinity",
    "preferred-anti-affinity",
    "topology-spread",
    "preferred-topology-spread",
    "node-affinity",
    "mixed",
    "daemonset",
    "many-deployments",
    "bound-claims",
    "mutual-anti-affinity",
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A workload, with its size and parameters."""

    workload: str
    size: str | None = None
    params: dict[str, int] = field(default_factory=dict)

    def load(self, seed: int) -> Workload:
        """Read the workload."""
        return load_workload(self.workload, size=self.size, params=self.params, seed=seed)


@dataclass(frozen=True, slots=True)
class Plan:
    """All that one call measures. ``processes``: whether stages with processes, gRPC and end to end, are included."""

    workloads: tuple[Entry, ...]
    processes: tuple[Entry, ...]
    compared: tuple[Entry, ...]
    growth: dict[str, int]
    instances: int
    runs: int


SMALL = Plan(
    workloads=tuple(Entry(name, "small") for name in ("basic", "poseidon-talk", "steady", "churn", *RULES)),
    processes=(Entry("basic", "small"),),
    compared=(Entry("basic", "small"), Entry("basic", "small", {"nodes": 20, "pods": 80})),
    growth={"nodes": 500, "pods": 500, "classes": 10},
    instances=50,
    runs=2,
)

FULL = Plan(
    workloads=(
        *(Entry("basic", "10k", {"classes": count}) for count in (1, 10, 100, 500, 2000)),
        Entry("basic", "10k", {"fillHigh": 0}),
        Entry("basic", "full"),
        Entry("basic", "10k", {"pods": 1}),
        Entry("basic", "10k", {"pods": 1000}),
        Entry("basic", "10k", {"pods": 100_000}),
        *(Entry("basic", size) for size in ("1k", "5k", "50k", "100k")),
        *(Entry("poseidon-talk", size) for size in ("200", "400", "600", "10k")),
        Entry("steady"),
        Entry("churn"),
        *(Entry(name) for name in RULES),
    ),
    processes=(Entry("basic", "10k", {"classes": 10}), Entry("basic", "10k")),
    compared=(Entry("basic", "10k"), Entry("basic", "1k", {"pods": 2000, "classes": 10}), SMALL.compared[1]),
    growth={"nodes": 10_000, "pods": 10_000, "classes": 100},
    instances=1000,
    runs=3,
)


async def measure_everything(
    plan: Plan, seed: int, progress: Callable[[str], None]
) -> AsyncIterator[dict[str, Any]]:
    """Yield one report of each kind except memory, as each is done. Raises ``TargetError`` or ``WorkloadError``."""
    options = MeasureOptions(runs=plan.runs, timeout=300.0, bindings_only=True, progress=progress)
    machine = environment()
    results = [
        result
        for entry in plan.workloads
        for result in await measure_workload(entry.load(seed), "algorithm", options)
    ]
    stages: tuple[Stage, ...] = ("grpc", "end-to-end")
    for entry in plan.processes:
        for stage in stages:
            results += await measure_workload(entry.load(seed), stage, options)
    yield {"kind": "workloads", "environment": machine, "results": results}
    compared = [
        await compare(entry.load(seed), comparators(), runs=plan.runs, progress=progress)
        for entry in plan.compared
    ]
    yield {"kind": "comparison", "environment": machine, "results": compared}
    yield await measure_growth(plan.growth, runs=plan.runs, seed=seed, progress=progress)
    yield measure_optimum(plan.instances, "typical", seed=seed, seconds=1.0, progress=progress)
