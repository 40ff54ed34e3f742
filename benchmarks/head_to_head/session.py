"""Runs each case by every scheduler in turn. Results are saved as they come, so an interrupted run can continue."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.declarative.runner import Measured, Runner
from benchmarks.head_to_head.cases import Case, Sizes
from benchmarks.head_to_head.clusters import GATES, Arena, ArenaOptions, open_arena
from benchmarks.head_to_head.results import Results
from benchmarks.head_to_head.shared_cluster import SharedCluster
from benchmarks.head_to_head.target import HeadToHeadTarget
from benchmarks.processes.parts.usage import UsageSampler
from benchmarks.targets.base import TargetError
from benchmarks.targets.schedulers import BindingsOnly, KubeScheduler, Ours, SchedulerUnderTest
from poseidon.demo.binding_latency import percentile
from poseidon.demo.verification import read_occupancy
from poseidon.kube.client.errors import KubeError
from poseidon.testbed.harness.child import ChildDiedError
from poseidon.testbed.harness.stack import Stack, StackOptions

OURS, KUBE, CLIENT = Ours.name, KubeScheduler.name, BindingsOnly.name
SCHEDULERS = (OURS, KUBE, CLIENT)
_PERCENTS = (50, 95, 99)
_PREEMPTION = "preemption"


@dataclass(frozen=True, slots=True)
class HeadToHeadOptions:
    """Options of the comparison: schedulers, workloads and rates, and how often each is run."""

    arena: ArenaOptions
    """Options of the cluster."""
    cases: Sequence[Case]
    """Cases in the order of measurement."""
    sizes: Sizes
    """Sizes from which the cases were made; results of other sizes are kept apart."""
    schedulers: Sequence[str] = SCHEDULERS
    """Names of the schedulers that take turns in each case."""
    runs: int = 1
    """Turns of each scheduler per case."""
    minutes: float | None = None
    """Minutes after which no further turn begins; None for no limit."""
    timeout: float = 300.0
    """Seconds in which all created pods must be bound; else the turn has failed."""
    progress: Callable[[str], None] = field(default=lambda _: None)
    """Receives a line about each turn."""


async def run_head_to_head(options: HeadToHeadOptions, results: Results) -> int:
    """Run the turns that ``results`` lacks; return how many are left. Raises ``ControlPlaneError`` or
    ``ChildDiedError``.
    """
    left = [
        (case, number, name)
        for case in options.cases
        for number in range(options.runs)
        for name in options.schedulers
        if not results.has(case.name, asdict(options.sizes), number, name)
    ]
    if not left:
        return 0
    until = float("inf") if options.minutes is None else time.monotonic() + 60 * options.minutes
    folder = Path(tempfile.mkdtemp(prefix="poseidon-head-"))
    try:
        options.progress("starting the control plane")
        async with (
            open_arena(options.arena, folder) as arena,
            SharedCluster(arena.kubeconfig, ends=arena.own) as cluster,
        ):
            while left and time.monotonic() < until:
                case, number, name = left.pop(0)
                options.progress(f"{case.name}: {name}")
                found = await _run_case(case, name, arena, cluster, folder, options)
                results.add(
                    {
                        "case": case.name,
                        "sizes": asdict(options.sizes),
                        "run": number,
                        "scheduler": name,
                        **found,
                    }
                )
                options.progress(_describe_run(found))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return len(left)


async def _run_case(
    case: Case, name: str, arena: Arena, cluster: SharedCluster, folder: Path, options: HeadToHeadOptions
) -> dict[str, Any]:
    """Run a case with one scheduler, and remove what it leaves."""
    own = Path(tempfile.mkdtemp(prefix=f"{name.replace(' ', '-')}-", dir=folder))
    stack = Stack(StackOptions(own, kubeconfig=arena.kubeconfig, cluster_name=own.name, log_level="warning"))
    scheduler: SchedulerUnderTest | None = None
    cluster.begin_run()
    try:
        async with stack:
            scheduler = await _make_scheduler(name, stack, arena, own)
            usage = UsageSampler(lambda: {**arena.roots(), **scheduler.roots()})
            target = HeadToHeadTarget(cluster, scheduler, usage, timeout=options.timeout)
            parts = []
            for part in case.parts:
                measured = await Runner(part.workload, target, pace=0.0).run()
                overcommitted = (await read_occupancy(cluster.transport)).overcommitted_nodes
                parts += [_figures(part.name, each, overcommitted) for each in measured]
                await cluster.remove_passing()
            if case.name == _PREEMPTION:
                await cluster.forget_victims()
            return {
                "parts": parts,
                "startSeconds": round(target.start_seconds, 2),
                "startCpuSeconds": {key: round(each, 2) for key, each in target.start_usage.items()},
            }
    except (TargetError, KubeError, ChildDiedError, TimeoutError) as error:
        # If the API server is gone, this fails as well and ends the run: later turns could only fail.
        await cluster.remove_passing()
        await cluster.forget_victims()
        return {"parts": [], "failure": (str(error) or "no answer in time").splitlines()[0]}
    finally:
        if scheduler is not None:
            await scheduler.stop()


async def _make_scheduler(name: str, stack: Stack, arena: Arena, folder: Path) -> SchedulerUnderTest:
    if name == CLIENT:
        return BindingsOnly(arena.kubeconfig, folder)
    if name == KUBE:
        assert arena.scheduler is not None
        return KubeScheduler(arena.scheduler, arena.kubeconfig, folder, GATES)
    await stack.start_solver()
    return Ours(stack, folder.name)


def _figures(name: str, measured: Measured, overcommitted: int) -> dict[str, Any]:
    figures = measured.figures
    return {
        "name": name,
        "bound": figures.bound,
        "waiting": figures.waiting,
        "seconds": round(figures.seconds, 3),
        "podsPerSecond": figures.pods_per_second,
        "latencySeconds": {f"p{each}": percentile(figures.latencies, each) for each in _PERCENTS},
        "usage": figures.extra["usage"],
        "overcommittedNodes": overcommitted,
    }


def _describe_run(found: dict[str, Any]) -> str:
    if "failure" in found:
        return f"  failed: {found['failure']}"
    return "\n".join(
        f"  {part['name']}: {part['bound']:,} bound, {part['podsPerSecond'] or 0:,.0f} pods/s, "
        f"p50 {1000 * (part['latencySeconds']['p50'] or 0):,.1f} ms"
        for part in found["parts"]
    )
