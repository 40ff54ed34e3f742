"""Runs a workload at one or more stages, several times, and combines the figures."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from benchmarks.declarative.loading import Workload, WorkloadError
from benchmarks.declarative.runner import Measured, Runner
from benchmarks.processes.grpc_stage import solver_process
from benchmarks.processes.parts.server_limits import ServerLimits
from benchmarks.quality.placement_quality import CostObserver, cluster_quality
from benchmarks.targets.algorithm import AlgorithmTarget
from benchmarks.targets.cluster import ClusterTarget
from benchmarks.targets.grpc_stream import GrpcTarget
from benchmarks.targets.schedulers import BindingsOnly, KubeScheduler, Ours, SchedulerUnderTest
from firmament.configuration.document import SchedulerConfiguration, build_core, load
from poseidon.testbed.harness.stack import Stack, StackOptions
from protos.configuration.file import ConfigurationError

Stage = Literal["algorithm", "grpc", "end-to-end"]
STAGES: tuple[Stage, ...] = ("algorithm", "grpc", "end-to-end")
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class MeasureOptions:
    """How to measure.

    End to end, each run has processes of its own. Runs of the schedulers alternate, so that other work of the
    machine affects all alike.
    """

    runs: int = 3
    """Runs, after a warm-up for stages that need one."""
    timeout: float = 600.0
    """Longest wait in seconds."""
    kubeconfig: Path | None = None
    """Cluster whose existing nodes are used, None for a simulated one."""
    kube_scheduler: Path | None = None
    """Binary that schedules the same workload too, None for none."""
    bindings_only: bool = False
    """Whether to measure a client that only binds."""
    server: ServerLimits = field(default_factory=ServerLimits)
    """Limits of the simulated API server."""
    progress: Progress = field(default=lambda _: None)
    """Receives lines about the progress."""


async def measure_workload(workload: Workload, stage: Stage, options: MeasureOptions) -> list[dict[str, Any]]:
    """Measure one workload at one stage; one result per scheduler. Raises ``TargetError`` or ``WorkloadError``."""
    folder = Path(tempfile.mkdtemp(prefix="poseidon-bench-"))
    try:
        path, configuration = _configuration(workload, folder)
        if stage == "algorithm":
            return [_result(workload, stage, await _algorithm(workload, configuration, options))]
        if stage == "grpc":
            return [_result(workload, stage, await _grpc(workload, path, configuration, options))]
        return [
            _result(workload, stage, runs) for runs in await _all_end_to_end(workload, path, folder, options)
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _result(workload: Workload, stage: Stage, runs: Sequence[list[Measured]]) -> dict[str, Any]:
    """Return the run of median length for each measured part, and comparisons over all runs."""
    measured = []
    for each in zip(*runs, strict=True):
        ordered = sorted(each, key=lambda part: part.figures.seconds)
        chosen = ordered[(len(ordered) - 1) // 2]
        all_runs = {
            "allSeconds": [part.figures.seconds for part in each],
            "allPodsPerSecond": [part.figures.pods_per_second for part in each],
        }
        usages = [usage for part in each if (usage := part.figures.extra.get("usage"))]
        if usages:
            all_runs["allCpuSeconds"] = [
                {name: figures["cpuSeconds"] for name, figures in usage.items()} for usage in usages
            ]
        measured.append({**chosen.as_json(), **all_runs})
    reference = workload.file.reference
    return {
        "workload": workload.name,
        "description": workload.file.description,
        "params": dict(workload.params),
        "seed": workload.seed,
        "stage": stage,
        "reference": reference.model_dump(by_alias=True) if reference else None,
        "measured": measured,
    }


def _configuration(workload: Workload, folder: Path) -> tuple[Path | None, SchedulerConfiguration]:
    """Return the solver's configuration, in a file if it is not the default."""
    scheduling = workload.file.scheduling
    if scheduling is None:
        return None, load(None)
    path = folder / "scheduler.yaml"
    sections = scheduling.model_dump(by_alias=True, exclude_none=True)
    header = {"apiVersion": "firmament.io/v1alpha1", "kind": "SchedulerConfiguration"}
    path.write_text(yaml.safe_dump(header | sections))
    try:
        return path, load(path)
    except ConfigurationError as error:
        raise WorkloadError([f"{workload.name}: scheduling: {line}" for line in error.lines]) from None


# --- stages -----------------------------------------------------------------------------------------------------


async def _algorithm(
    workload: Workload, configuration: SchedulerConfiguration, options: MeasureOptions
) -> list[list[Measured]]:
    runs = []
    for number in range(options.runs + 1):
        observer = CostObserver()
        target = AlgorithmTarget(build_core(configuration), observer=observer)
        progress = options.progress if number == 0 else lambda _: None
        measured = await Runner(workload, target, progress=progress).run()
        broken = target.count_broken_rules()
        for part in measured:
            part.figures.extra["placementCost"] = observer.cost if len(measured) == 1 else None
            part.figures.extra["brokenRules"] = broken
            part.figures.extra["quality"] = cluster_quality(target.machine_states()).as_json()
        runs.append(measured)
    return runs[1:]


async def _grpc(
    workload: Workload, path: Path | None, configuration: SchedulerConfiguration, options: MeasureOptions
) -> list[list[Measured]]:
    async def run(address: str, number: int) -> list[Measured]:
        name = f"benchmark-{number}"
        async with GrpcTarget(address, name, needs, timeout=options.timeout) as target:
            return await Runner(workload, target, progress=options.progress).run()

    needs = build_core(configuration).words
    with solver_process(path) as address:
        return [await run(address, number) for number in range(options.runs + 1)][1:]


def _schedulers(options: MeasureOptions) -> list[str]:
    return [
        Ours.name,
        *(["bindings-only"] if options.bindings_only else []),
        *(["kube-scheduler"] if options.kube_scheduler else []),
    ]


def _subfolder(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


async def _all_end_to_end(
    workload: Workload, path: Path | None, folder: Path, options: MeasureOptions
) -> list[list[list[Measured]]]:
    """Return the runs of every scheduler; the n-th runs of all schedulers follow one another, as they are compared."""
    names = _schedulers(options)
    runs: list[list[list[Measured]]] = [[] for _ in names]
    for number in range(options.runs):
        progress = options.progress if number == 0 else lambda _: None
        for name, own in zip(names, runs, strict=True):
            part = _subfolder(folder, f"{name}-{number}")
            own.append(await _end_to_end(workload, name, path, part, replace(options, progress=progress)))
    return runs


async def _end_to_end(
    workload: Workload, scheduler: str, path: Path | None, folder: Path, options: MeasureOptions
) -> list[Measured]:
    name = f"poseidon-bench-{uuid.uuid4().hex[:8]}"
    stack_options = StackOptions(
        folder,
        kubeconfig=options.kubeconfig,
        config=path,
        cluster_name=name,
        log_level="warning",
        more_for_cluster=options.server.arguments(),
    )
    async with Stack(stack_options) as stack:
        # Beside other schedulers a solver would only take processor time.
        await (stack.start_servers() if scheduler == Ours.name else stack.start_cluster())
        chosen = _scheduler(scheduler, stack, name, folder, options)
        own = options.kubeconfig is None
        try:
            async with ClusterTarget(stack, chosen, own=own, timeout=options.timeout) as target:
                measured = await Runner(workload, target, progress=options.progress).run()
                for part in measured:
                    part.figures.extra["verified"] = await target.verify()
                    part.figures.extra["server"] = str(options.server)
                return measured
        finally:
            await chosen.stop()


def _scheduler(
    name: str, stack: Stack, cluster: str, folder: Path, options: MeasureOptions
) -> SchedulerUnderTest:
    if name == "bindings-only":
        return BindingsOnly(stack.kubeconfig, folder)
    if name == "kube-scheduler":
        assert options.kube_scheduler is not None
        return KubeScheduler(options.kube_scheduler, stack.kubeconfig, folder)
    return Ours(stack, cluster)
