"""What ``make bench`` runs: everything at sizes that take a minute or two together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.comparing import comparators, compare
from benchmarks.declarative.loading import load_workload
from benchmarks.environment import environment
from benchmarks.growth import measure_growth
from benchmarks.measuring import MeasureOptions, Stage, measure_workload
from benchmarks.optimum import measure_optimum

WORKLOADS = (
    "basic",
    "poseidon-talk",
    "steady",
    "churn",
    "anti-affinity",
    "affinity",
    "preferred-affinity",
    "preferred-anti-affinity",
    "topology-spread",
    "node-affinity",
    "mixed",
    "daemonset",
    "many-deployments",
    "mutual-anti-affinity",
    "bound-claims",
)
INSTANCES = 50


async def measure_small(seed: int, progress: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return one report of each kind but memory. Raises ``TargetError`` or ``WorkloadError``."""
    options = MeasureOptions(runs=2, timeout=120.0, progress=progress)
    results = []
    for name in WORKLOADS:
        results += await measure_workload(load_workload(name, size="small", seed=seed), "algorithm", options)
    basic = load_workload("basic", size="small", seed=seed)
    stages: tuple[Stage, ...] = ("grpc", "end-to-end")
    for stage in stages:
        results += await measure_workload(basic, stage, options)
    comparison = await compare(basic, comparators(), runs=2, progress=progress)
    tiny = load_workload("basic", size="small", params={"nodes": 20, "pods": 80}, seed=seed)
    tiny_comparison = await compare(tiny, comparators(), runs=2, progress=progress)
    growth = await measure_growth(
        {"nodes": 500, "pods": 500, "classes": 10}, runs=1, seed=seed, progress=progress
    )
    machine = environment()
    return [
        {"kind": "workloads", "environment": machine, "results": results},
        {"kind": "comparison", "environment": machine, "results": [comparison, tiny_comparison]},
        growth,
        measure_optimum(INSTANCES, "typical", seed=seed, seconds=1.0, progress=progress),
    ]
