"""Measures a start: a bridge reads a whole cluster, and sends it to a new solver."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.environment import environment
from benchmarks.processes.end_to_end import EndToEndOptions, node_objects, pod_objects
from benchmarks.processes.parts.usage import UsageSampler, stack_roots
from poseidon.demo.seeding import create_in_bulk
from poseidon.demo.solver_client import SolverClient
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from poseidon.testbed.harness.stack import Stack, StackOptions
from protos.firmament.v1 import scheduler_pb2 as pb

Object = dict[str, Any]

_BATCH = 1000
_TICK_SECONDS = 0.2
_NAME = "poseidon-bench-start"
_LEAST_CPU_SECONDS = 0.01
"""The system counts processor time in such steps: what took less may count as nothing."""


@dataclass(frozen=True, slots=True)
class StartOptions:
    """A cluster of ``nodes`` and ``pods`` of ``classes``; ``pending`` of the pods wait for a node."""

    nodes: int = 10_000
    pods: int = 100_000
    classes: int = 100
    pending: int = 5_000
    timeout: float = 300.0
    seed: int = 1


def run_start(options: StartOptions, progress: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Start, place the waiting pods, restart the solver. Raises ``ChildDiedError``, ``KubeError`` or
    ``TimeoutError``.
    """
    folder = Path(tempfile.mkdtemp(prefix="poseidon-bench-"))
    try:
        return asyncio.run(_run(options, folder, progress))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _run(options: StartOptions, folder: Path, progress: Callable[[str], None]) -> dict[str, Any]:
    async with Stack(StackOptions(folder, cluster_name=_NAME, log_level="warning")) as stack:
        await stack.start_servers()
        async with Transport(load_settings(stack.kubeconfig), clock=time.monotonic) as transport:
            progress(f"creating {options.nodes:,} nodes and {options.pods:,} pods")
            await _create(transport, node_objects(options.nodes))
            await _create(transport, _pods(options))
        running = options.pods - options.pending
        async with SolverClient(stack.solver_address, _NAME) as solver, asyncio.timeout(options.timeout):

            def is_known(counts: pb.ListStateResponse) -> bool:
                return counts.machines == options.nodes and counts.bound >= running

            def is_settled(counts: pb.ListStateResponse) -> bool:
                return counts.bound == options.pods

            progress("starting the bridge")
            start = await _phase(stack, solver, stack.start_bridge, is_known)
            progress(f"binding {options.pending:,} pods")
            burst = await _phase(stack, solver, _nothing, is_settled)
            progress("restarting the solver")
            stack.solver.signal(signal.SIGKILL)
            await stack.solver.wait()
            await stack.start_solver()
            replay = await _phase(stack, solver, _nothing, is_settled)
    objects = options.nodes + options.pods
    for phase, reader in ((start, "bridge"), (replay, "solver")):
        # Other processes share the cores; this is the rate of the reader alone.
        phase["objectsPerSecond"] = round(
            objects / max(phase["usage"][reader]["cpuSeconds"], _LEAST_CPU_SECONDS)
        )
    return {
        "kind": "start",
        "environment": environment(),
        "nodes": options.nodes,
        "pods": options.pods,
        "classes": options.classes,
        "pending": options.pending,
        "phases": {"start": start, "burst": burst, "replay": replay},
    }


async def _phase(
    stack: Stack,
    solver: SolverClient,
    begin: Callable[[], Awaitable[None]],
    done: Callable[[pb.ListStateResponse], bool],
) -> dict[str, Any]:
    """Return the seconds from ``begin`` until the solver's counts satisfy ``done``, and the processes' use
    meanwhile.
    """
    usage = UsageSampler(stack_roots(stack))
    usage.begin()
    begun = time.monotonic()
    await begin()
    while not done(await solver.counts()):
        usage.sample()
        await asyncio.sleep(_TICK_SECONDS)
    return {"seconds": round(time.monotonic() - begun, 2), "usage": usage.end()}


async def _nothing() -> None:
    return


def _pods(options: StartOptions) -> Iterator[Object]:
    """Yield pods on the nodes in turn; the last ones wait."""
    running = options.pods - options.pending
    shape = EndToEndOptions(pods=options.pods, classes=options.classes, seed=options.seed)
    for index, pod in enumerate(pod_objects(shape, "default")):
        if index < running:
            pod["spec"]["nodeName"] = f"node-{index % options.nodes:05d}"
            pod["status"] = {"phase": "Running"}
        yield pod


async def _create(transport: Transport, objects: Iterator[Object]) -> None:
    batch: list[Object] = []
    for each in objects:
        batch.append(each)
        if len(batch) == _BATCH:
            await create_in_bulk(transport, batch)
            batch = []
    await create_in_bulk(transport, batch)
