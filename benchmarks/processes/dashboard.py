"""Measures the cost of the dashboard: rounds of both processes with its page open and closed; and many browsers.

The simulated cluster, the solver, the bridge and ``poseidon ui`` run as processes of their own. A browser is played by
a client that listens for changes and asks for what each view shows, again and again, as the page does.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import statistics
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import psutil

from benchmarks.environment import environment
from benchmarks.processes.end_to_end import EndToEndOptions, node_objects, pod_objects
from benchmarks.processes.parts.free_ports import free_ports
from poseidon.demo.seeding import create_in_bulk, ensure_namespace
from poseidon.demo.solver_client import SolverClient
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from poseidon.testbed.harness.stack import Stack, StackOptions
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc

Progress = Callable[[str], None]

VIEWS = ("overview", "flow", "cluster", "pending", "groups", "pods?phase=bound")
_BATCH = 250
_QUIET_SECONDS = 1.0
_MOST_BYTES = 1 << 28


@dataclass(frozen=True, slots=True)
class DashboardOptions:
    """Options: ``pairs`` of bursts of ``pods``, each alone on the cluster; ``browsers`` that connect at the end."""

    nodes: int = 10_000
    pods: int = 5_000
    classes: int = 100
    pairs: int = 20
    browsers: int = 200
    seed: int = 1


def measure_dashboard(options: DashboardOptions, *, progress: Progress) -> dict[str, object]:
    """Measure; returns what ``-o json`` prints. Ratios are of pairs, 1.0 for no difference."""
    folder = Path(tempfile.mkdtemp(prefix="poseidon-bench-"))
    try:
        return asyncio.run(_measure(options, folder, progress))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _measure(options: DashboardOptions, folder: Path, progress: Progress) -> dict[str, object]:
    name = f"poseidon-bench-{uuid.uuid4().hex[:8]}"
    async with Stack(StackOptions(folder, cluster_name=name)) as stack:
        progress("starting the servers")
        await stack.start_servers()
        settings = load_settings(stack.kubeconfig)
        async with (
            Transport(settings, clock=time.monotonic, user_agent="poseidon-bench") as transport,
            SolverClient(stack.solver_address, name) as solver,
        ):
            await ensure_namespace(transport, name)
            progress(f"creating {options.nodes:,} nodes")
            await create_in_bulk(transport, list(node_objects(options.nodes)))
            await stack.start_bridge()
            await solver.wait_for(lambda counts: counts.machines >= options.nodes)
            page = await stack.start_page("--listen", f"127.0.0.1:{free_ports(1)[0]}")
            bursts = _Bursts(options, stack, transport, solver, name)
            process = psutil.Process(stack.page.pid)
            await _pairs(replace(options, pairs=2), bursts, page, progress)  # a warm-up
            at_first = process.memory_info().rss
            pairs = await _pairs(options, bursts, page, progress)
            memory = [round(each / 2**20, 1) for each in (at_first, process.memory_info().rss)]
            progress(f"{options.browsers} browsers at a time")
            crowd = await _crowd(page, options.browsers)
    return {
        "kind": "dashboard",
        "environment": environment(),
        "options": asdict(options),
        "secondsWithout": statistics.median(without for without, _ in pairs),
        "secondsWith": statistics.median(with_page for _, with_page in pairs),
        "ratio": statistics.median(with_page / without for without, with_page in pairs),
        "pairs": pairs,
        "pageMiB": memory,
        "browsers": crowd,
    }


async def _pairs(
    options: DashboardOptions, bursts: _Bursts, page: str, progress: Progress
) -> list[tuple[float, float]]:
    pairs = []
    for number in range(options.pairs):
        progress(f"rounds, pair {number + 1} of {options.pairs}")
        # The first of a pair alternates, so that other work of the machine affects both alike.
        if number % 2:
            without = await bursts.seconds()
            async with _browser(page):
                with_page = await bursts.seconds()
        else:
            async with _browser(page):
                with_page = await bursts.seconds()
            without = await bursts.seconds()
        pairs.append((without, with_page))
    return pairs


class _Bursts:
    """Bursts of pods that are bound and deleted again."""

    def __init__(
        self,
        options: DashboardOptions,
        stack: Stack,
        transport: Transport,
        solver: SolverClient,
        namespace: str,
    ) -> None:
        self._options, self._stack = options, stack
        self._transport, self._solver, self._namespace = transport, solver, namespace
        self._last = 0

    async def seconds(self) -> float:
        """Return the seconds that the rounds of a burst took in all, by the solver's own figures."""
        options = self._options
        load = EndToEndOptions(options.nodes, options.pods, options.classes, seed=options.seed)
        pods = list(pod_objects(load, self._namespace))
        for begin in range(0, len(pods), _BATCH):
            await create_in_bulk(self._transport, pods[begin : begin + _BATCH])
        await self._solver.wait_for(lambda counts: counts.bound >= options.pods and not counts.assumed)
        spent = await self._take_seconds()
        await self._delete(pods)
        await self._solver.wait_for(lambda counts: not counts.bound and not counts.pending)
        await asyncio.sleep(_QUIET_SECONDS)
        return spent

    async def _take_seconds(self) -> float:
        """Return the seconds of rounds since the last call."""
        from poseidon.bridge.solver_stream.stream import open_channel

        async with open_channel(self._stack.solver_address, _MOST_BYTES, 20.0, None) as channel:
            request = pb.ListRoundsRequest(cluster=self._namespace, after=self._last)
            rounds = (await pb_grpc.SchedulerStub(channel).ListRounds(request)).rounds
        self._last = rounds[-1].round
        return sum(
            each.stats.snapshot_seconds
            + each.stats.network_seconds
            + each.stats.solve_seconds
            + each.stats.admit_seconds
            for each in rounds
        )

    async def _delete(self, pods: Sequence[dict[str, Any]]) -> None:
        path = f"/api/v1/namespaces/{self._namespace}/pods"
        for begin in range(0, len(pods), _BATCH):
            some = pods[begin : begin + _BATCH]
            await asyncio.gather(
                *(
                    self._transport.delete(f"{path}/{pod['metadata']['name']}?gracePeriodSeconds=0")
                    for pod in some
                )
            )


@contextlib.asynccontextmanager
async def _browser(page: str) -> AsyncIterator[None]:
    """Run a client that looks at all views until the context ends."""
    async with aiohttp.ClientSession(page) as session:
        looking = asyncio.create_task(_look(session))
        await asyncio.sleep(_QUIET_SECONDS)
        try:
            yield
        finally:
            looking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await looking


async def _look(session: aiohttp.ClientSession) -> None:
    """Request every view whenever something has changed."""
    async with session.get("/api/v1/events", timeout=aiohttp.ClientTimeout(total=None)) as events:
        async for line in events.content:
            if line.startswith(b"data:"):
                for view in VIEWS:
                    async with session.get(f"/api/v1/{view}") as answer:
                        await answer.read()


async def _crowd(page: str, browsers: int) -> dict[str, object]:
    """Connect many browsers at once; return how many may listen, the status codes of the others, and the seconds."""
    begin = time.monotonic()
    async with aiohttp.ClientSession(page, connector=aiohttp.TCPConnector(limit=0)) as session:
        answers = await asyncio.gather(*(session.get("/api/v1/events") for _ in range(browsers)))
        statuses = [answer.status for answer in answers]
        asked = time.monotonic()
        async with session.get("/api/v1/overview") as answer:
            await answer.read()
        waited = time.monotonic() - asked
        for each in answers:
            each.close()
    return {
        "listening": statuses.count(200),
        "refused": statuses.count(503),
        "others": browsers - statuses.count(200) - statuses.count(503),
        "seconds": round(asked - begin, 3),
        "overviewSeconds": round(waited, 3),
    }
