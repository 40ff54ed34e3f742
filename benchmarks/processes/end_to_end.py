"""Measures both processes against an API server: from the creation of pods to their binding, as a watcher sees it."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from benchmarks.processes.parts.cluster_objects import remove_namespace
from benchmarks.processes.parts.usage import UsageSampler, stack_roots
from benchmarks.processes.scheduled_events import await_scheduled_events
from benchmarks.scenario import MIB, PODS_PER_MACHINE, SHAPES
from poseidon.demo.binding_latency import PodName, PodTracker, percentile
from poseidon.demo.run import following
from poseidon.demo.seeding import create_in_bulk, ensure_namespace
from poseidon.demo.solver_client import SolverClient
from poseidon.demo.verification import Occupancy, read_occupancy
from poseidon.kube.client.errors import KubeError
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.testbed.harness.stack import Stack, StackOptions
from poseidon.testbed.seeding import NodeShape, node

Object = dict[str, Any]
Victim = Literal["solver", "bridge"]

_BATCH = 250
_POSTERS = 64
_TICK_SECONDS = 0.1
_ZONES = ("zone-a", "zone-b", "zone-c")
_NODE_SHAPES = tuple(
    NodeShape(f"shape-{cpu // 1000}", cpu=f"{cpu}m", memory=str(memory), pods=PODS_PER_MACHINE)
    for cpu, memory in SHAPES
)


@dataclass(frozen=True, slots=True)
class EndToEndOptions:
    """An end-to-end measurement."""

    nodes: int = 10_000
    """Simulated nodes."""
    pods: int = 10_000
    """Pods to bind."""
    classes: int = 10
    """Classes of pods."""
    kubeconfig: Path | None = None
    """Cluster whose existing nodes are used, in a namespace of the benchmark's own; None: simulate one."""
    waiting: bool = False
    """Whether the pods exist before the bridge starts, so that only their binding is measured."""
    kill: Victim | None = None
    """Process to kill and restart, None for none."""
    kill_at: float = 0.5
    """Share of pods bound when it is killed."""
    timeout: float = 600.0
    """Seconds until it gives up."""
    seed: int = 1
    """Seed of the draws."""


def run_end_to_end(
    options: EndToEndOptions,
    progress: Callable[[str], None] = lambda _: None,
    more: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> dict[str, Any]:
    """Run once, the solver and the bridge with ``more`` options, and return the figures.

    Raises ``ChildDiedError``, ``KubeError`` or ``TimeoutError``.
    """
    folder = Path(tempfile.mkdtemp(prefix="poseidon-bench-"))
    try:
        return asyncio.run(_run(options, folder, progress, more))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _run(
    options: EndToEndOptions,
    folder: Path,
    progress: Callable[[str], None],
    more: tuple[Sequence[str], Sequence[str]],
) -> dict[str, Any]:
    name = f"poseidon-bench-{uuid.uuid4().hex[:8]}"
    stack_options = StackOptions(
        folder,
        kubeconfig=options.kubeconfig,
        cluster_name=name,
        more_for_solver=tuple(more[0]),
        more_for_bridge=tuple(more[1]),
    )
    async with Stack(stack_options) as stack:
        progress("starting the servers")
        await stack.start_servers()
        settings = load_settings(stack.kubeconfig)
        async with (
            Transport(settings, clock=time.monotonic, user_agent="poseidon-bench") as transport,
            SolverClient(stack.solver_address, name) as solver,
        ):
            run = _EndToEnd(options, stack, transport, solver, name, progress)
            try:
                async with asyncio.timeout(options.timeout):
                    return await run.measure()
            finally:
                await run.clean_up()


class _EndToEnd:
    def __init__(
        self,
        options: EndToEndOptions,
        stack: Stack,
        transport: Transport,
        solver: SolverClient,
        namespace: str,
        progress: Callable[[str], None],
    ) -> None:
        self._options = options
        self._stack = stack
        self._transport = transport
        self._solver = solver
        self._namespace = namespace
        self._progress = progress
        self._tracker = PodTracker(time.monotonic)
        self._usage = UsageSampler(stack_roots(stack))
        self._curve: list[tuple[float, int]] = []
        self._downtime = 0.0

    async def measure(self) -> dict[str, Any]:
        """Create nodes and pods, wait until all are bound, and verify."""
        options, transport = self._options, self._transport
        await ensure_namespace(transport, self._namespace)
        if options.kubeconfig is None:
            self._progress(f"creating {options.nodes:,} nodes")
            await create_in_bulk(transport, list(node_objects(options.nodes)))
        nodes = (await read_occupancy(transport)).nodes
        pods = list(pod_objects(options, self._namespace))
        async with following(Environment(transport), self._tracker):
            if options.waiting:
                self._progress(f"creating {len(pods):,} pods")
                await self._create(pods)
            self._progress("starting the bridge")
            await self._stack.start_bridge()
            if not options.waiting:
                await self._solver.wait_for(lambda counts: counts.machines >= nodes)
            self._progress(f"scheduling {len(pods):,} pods of {options.classes} classes on {nodes:,} nodes")
            self._usage.begin()
            creating = asyncio.create_task(self._nothing() if options.waiting else self._create(pods))
            await asyncio.gather(creating, self._wait_until_bound(len(pods)))
            usage = self._usage.end()
        counts = await self._solver.wait_for(lambda counts: not counts.assumed)
        figures = self._figures(await read_occupancy(transport), counts.rounds, usage)
        if options.kill != "bridge":
            # A killed process loses the lines that it has not written yet.
            self._progress("waiting for events")
            figures["events"] = await await_scheduled_events(transport, [self._namespace], len(pods))
        return figures

    async def clean_up(self) -> None:
        """Delete what was created in a cluster that is not simulated."""
        if self._options.kubeconfig is not None:
            with suppress(KubeError):
                await remove_namespace(self._transport, self._namespace)

    # --- steps -----------------------------------------------------------------------------------------------

    async def _nothing(self) -> None:
        return

    async def _create(self, pods: Sequence[Object]) -> None:
        if self._options.kubeconfig is None:
            for begin in range(0, len(pods), _BATCH):
                batch = pods[begin : begin + _BATCH]
                self._announce(batch)
                await create_in_bulk(self._transport, batch)
            return
        rest = iter(pods)
        await asyncio.gather(*(self._post(rest) for _ in range(_POSTERS)))

    async def _post(self, pods: Iterator[Object]) -> None:
        path = f"/api/v1/namespaces/{self._namespace}/pods"
        for pod in pods:
            self._announce([pod])
            await self._transport.post(path, msgspec.json.encode(pod))

    def _announce(self, pods: Sequence[Object]) -> None:
        self._tracker.about_to_create(PodName(self._namespace, pod["metadata"]["name"]) for pod in pods)

    async def _wait_until_bound(self, total: int) -> None:
        begin = time.monotonic()
        victim = self._options.kill
        while self._tracker.bound < total:
            await asyncio.sleep(_TICK_SECONDS)
            self._usage.sample()
            self._note(begin)
            if victim is not None and self._tracker.bound >= total * self._options.kill_at:
                await self._kill(victim)
                victim = None
        self._note(begin)

    def _note(self, begin: float) -> None:
        self._curve.append((round(time.monotonic() - begin, 2), self._tracker.bound))

    async def _kill(self, victim: Victim) -> None:
        self._progress(f"killing the {victim} at {self._tracker.bound:,} bound pods")
        begin = time.monotonic()
        child = self._stack.solver if victim == "solver" else self._stack.bridge
        child.signal(signal.SIGKILL)
        await child.wait()
        restart: Callable[[], Awaitable[None]] = (
            self._stack.start_solver if victim == "solver" else self._stack.start_bridge
        )
        await restart()
        self._downtime = time.monotonic() - begin

    # --- figures ---------------------------------------------------------------------------------------------

    def _figures(self, occupancy: Occupancy, rounds: int, usage: dict[str, Any]) -> dict[str, Any]:
        options, tracker = self._options, self._tracker
        latencies = tracker.latencies()
        seconds = _binding_seconds(self._curve) if options.waiting else tracker.seconds()
        return {
            "cluster": "simulated" if options.kubeconfig is None else "given",
            "nodes": occupancy.nodes,
            "pods": options.pods,
            "classes": options.classes,
            "waiting": options.waiting,
            "killed": options.kill,
            "restartSeconds": round(self._downtime, 3) if options.kill else None,
            "bound": tracker.bound,
            "rounds": rounds,
            "seconds": round(seconds, 4),
            "bindingsPerSecond": round(tracker.bound / seconds, 1) if seconds else None,
            "latencySeconds": {
                f"p{percent}": None if options.waiting else round(percentile(latencies, percent) or 0.0, 4)
                for percent in (50, 90, 99)
            },
            "curve": self._curve,
            "usage": usage,
            "boundTwice": tracker.bound_twice,
            "overcommittedNodes": occupancy.overcommitted_nodes,
            "overcommitted": list(occupancy.overcommitted[:10]),
            "nodesUsed": occupancy.nodes_used,
        }


def _binding_seconds(curve: Sequence[tuple[float, int]]) -> float:
    """Return the seconds from the last moment without any binding to the last moment."""
    begin = max((moment for moment, bound in curve if not bound), default=0.0)
    return curve[-1][0] - begin if curve else 0.0


def node_objects(count: int) -> Iterator[Object]:
    """Yield nodes of three shapes in three zones."""
    for index in range(count):
        shape = _NODE_SHAPES[index % len(_NODE_SHAPES)]
        zone = _ZONES[index // len(_NODE_SHAPES) % len(_ZONES)]
        yield node(f"node-{index:05d}", shape, zone=zone)


def pod_objects(options: EndToEndOptions, namespace: str) -> Iterator[Object]:
    """Yield pods with requests of 50 m to 1 core and 64 MiB to 1 GiB, equal within a class, in random order."""
    rng = np.random.default_rng(options.seed)
    cpu = rng.integers(1, 21, options.classes) * 50
    memory = rng.integers(1, 17, options.classes) * 64 * MIB
    for index, number in enumerate(rng.integers(0, options.classes, options.pods).tolist()):
        requests = {"cpu": f"{cpu[number]}m", "memory": str(memory[number])}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            # The label distinguishes classes that happen to draw equal requests.
            "metadata": {
                "name": f"pod-{index:06d}",
                "namespace": namespace,
                "labels": {"class": str(number)},
            },
            "spec": {
                "schedulerName": "poseidon",
                "containers": [{"name": "main", "image": "pause", "resources": {"requests": requests}}],
            },
        }
