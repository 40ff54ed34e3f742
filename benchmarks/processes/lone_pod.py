"""Measures by traces how the time of a pod that comes alone is spent, from its creation until it is seen bound."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.declarative.loading import load_workload
from benchmarks.declarative.runner import Runner
from benchmarks.declarative.templates import Manifest
from benchmarks.environment import environment
from benchmarks.head_to_head.clusters import ArenaOptions, open_arena
from benchmarks.head_to_head.shared_cluster import SharedCluster
from benchmarks.head_to_head.target import HeadToHeadTarget
from benchmarks.processes.parts.collector import Collector, collecting
from benchmarks.processes.parts.usage import UsageSampler
from benchmarks.reports.sheets import Report, Sheet, number
from benchmarks.targets.schedulers import Ours
from poseidon.demo.binding_latency import PodName, percentile
from poseidon.testbed.harness.stack import Stack, StackOptions

STAGES = ("snapshot", "network", "solve", "admit")
_PERCENTS = (50, 95)
_MILLI, _NANO = 1e3, 1e9


@dataclass(frozen=True, slots=True)
class LonePodOptions:
    """Options: ``pods`` arrive at ``rate`` per second on ``nodes`` half-full nodes."""

    nodes: int = 1000
    pods: int = 100
    rate: int = 5
    timeout: float = 120.0


class _TimedCluster(SharedCluster):
    """Records when the API server has answered the creation of each pod."""

    def __init__(self, kubeconfig: Path) -> None:
        super().__init__(kubeconfig, time.time)
        self.answered: dict[PodName, float] = {}

    async def create(self, manifest: Manifest) -> None:
        """Create an object, and record the time."""
        await super().create(manifest)
        self.answered[PodName(manifest.namespace, manifest.name)] = time.time()


async def measure_lone_pod(
    options: LonePodOptions, arena_options: ArenaOptions, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Let pods arrive one by one; return what ``-o json`` prints. Raises ``TargetError`` or ``ControlPlaneError``."""
    folder = Path(tempfile.mkdtemp(prefix="poseidon-lone-"))
    try:
        async with collecting() as collector, open_arena(arena_options, folder) as arena:
            flag = (f"--traces={collector.address}",)
            stack_options = StackOptions(
                folder,
                kubeconfig=arena.kubeconfig,
                cluster_name=folder.name,
                log_level="warning",
                more_for_solver=flag,
                more_for_bridge=flag,
            )
            async with _TimedCluster(arena.kubeconfig) as cluster, Stack(stack_options) as stack:
                await stack.start_solver()
                ours = Ours(stack, folder.name)
                usage = UsageSampler(ours.roots)
                target = HeadToHeadTarget(cluster, ours, usage, timeout=options.timeout, clock=time.time)
                params = {"nodes": options.nodes, "pods": options.pods, "rate": options.rate}
                runner = Runner(load_workload("steady", params=params), target, progress=progress, pace=0.0)
                (measured,) = await runner.run()
                lives = dict(cluster.watch.lives)
                # Both programs send their remaining spans before they end.
                await stack.stop()
                parts = _parts(collector, lives, cluster.answered)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "kind": "lone-pod",
        "environment": environment(),
        "options": asdict(options),
        "pods": len(parts),
        "milliseconds": {name: _spread(each[name] for each in parts) for name in (parts[0] if parts else ())},
        "usage": measured.figures.extra["usage"],
    }


def _parts(
    collector: Collector, lives: dict[PodName, tuple[float, float]], answered: dict[PodName, float]
) -> list[dict[str, float]]:
    """Return the milliseconds of each part for each pod whose binding and round were traced."""
    rounds = {each.span_id: each for each in collector.list_named("round")}
    stages: dict[bytes, dict[str, float]] = {}
    for _, span in collector.spans:
        if span.name in STAGES:
            took = (span.end_time_unix_nano - span.start_time_unix_nano) / _NANO
            stages.setdefault(span.parent_span_id, {})[span.name] = took
    found = []
    for binding in collector.list_named("binding"):
        told = {each.key: each.value.string_value for each in binding.attributes}
        name = PodName(told["k8s.namespace.name"], told["k8s.pod.name"])
        decided = rounds.get(binding.parent_span_id)
        if decided is None or name not in lives or name not in answered:
            continue
        begun, ended = decided.start_time_unix_nano / _NANO, decided.end_time_unix_nano / _NANO
        arrived, bound = binding.start_time_unix_nano / _NANO, binding.end_time_unix_nano / _NANO
        created, seen = lives[name]
        inside = stages.get(decided.span_id, {})
        seconds = {
            "create: request and answer": answered[name] - created,
            "watch, translate, send, apply, wait for more": begun - answered[name],
            **{f"round: {stage}": inside.get(stage, 0.0) for stage in STAGES},
            "round: all else": ended - begun - sum(inside.values()),
            "answer: from round to bridge": arrived - ended,
            "check and bind: request and answer": bound - arrived,
            "seen: by the watcher, after the answer": seen - bound,
            "all": seen - created,
        }
        found.append({part: _MILLI * each for part, each in seconds.items()})
    return found


def _spread(values: Iterable[float]) -> dict[str, float]:
    ordered = sorted(values)
    figures = {f"p{each}": percentile(ordered, each) or 0.0 for each in _PERCENTS}
    return {key: round(each, 2) for key, each in {"mean": statistics.mean(ordered), **figures}.items()}


def lone_pod_sheets(report: Report) -> list[Sheet]:
    """Return a line per part of a pod's time."""
    options = report["options"]
    rows = [
        [name, number(each["mean"], 1), number(each["p50"], 1), number(each["p95"], 1)]
        for name, each in report["milliseconds"].items()
    ]
    pods = max(1, options["pods"])
    spent = [
        f"{name}: {100 * used['cpuSeconds'] / pods:.2f} processor seconds per 100 pods"
        for name, used in report["usage"].items()
        if name != "driver"
    ]
    caption = f"{report['pods']} pods, {options['rate']} a second, on {options['nodes']:,} nodes"
    notes = [
        "A watch may tell of a pod before the answer to its request is read: parts may be negative",
        *spent,
    ]
    return [Sheet(caption, ("part", "mean ms", "p50 ms", "p95 ms"), rows, notes)]
