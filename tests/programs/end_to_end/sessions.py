"""A solver and bridges' sessions in one event loop, without an API server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import grpc
from prometheus_client import CollectorRegistry

from firmament.configuration.document import SchedulerConfiguration
from firmament.server.access.address import ListenAddress
from firmament.server.solver_server import ServeOptions, SolverServer
from poseidon.bridge.metrics import BridgeMetrics
from poseidon.bridge.solver_stream.session import Session, SessionOptions
from poseidon.bridge.state import BridgeState
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc
from tests.poseidon.bridge.objects import node, pod, present
from tests.support.time_limits import stretch

QUICK = SessionOptions(backoff_initial=0.01, backoff_cap=0.05, refused_initial=0.01, refused_seconds=0.05)


class Peer:
    """Speaks for a bridge's state with one node, and remembers what is placed."""

    def __init__(self) -> None:
        self.state = BridgeState()
        self.state.nodes_changed([present(node("n1"))])
        self.placed: list[str] = []

    def snapshot(self):
        return self.state.event_stream.snapshot()

    def take_events(self):
        return self.state.event_stream.take_events()

    def take_reports(self):
        return self.state.take_reports()

    def has_plenty_to_do(self):
        return False

    def note_refused(self, event: pb.Event, reason: str) -> None:
        self.state.event_stream.note_refused(event, reason)

    async def on_round(self, result: pb.RoundResult) -> None:
        self.placed += [delta.task for delta in result.deltas]


class Driving:
    """One bridge's session, its peer and its metrics."""

    def __init__(
        self, target: str, cluster: str, fencing: int, options: SessionOptions, *, ephemeral: bool
    ) -> None:
        self.peer = Peer()
        self.registry = CollectorRegistry()
        self.session = Session(
            [target],
            self.peer,
            cluster=cluster,
            fencing=fencing,
            client="test",
            metrics=BridgeMetrics(self.registry),
            random=Random(1),
            clock=time.monotonic,
            options=options,
            ephemeral=ephemeral,
        )

    def submit(self, name: str) -> None:
        """A pod comes up that needs a place."""
        self.peer.state.pods_changed([present(pod(name))])
        self.session.wake()

    def metric(self, name: str) -> float | None:
        return self.registry.get_sample_value(name)


@asynccontextmanager
async def solving(ping_seconds: float = 5.0) -> AsyncIterator[str]:
    """Run a solver; yields its address."""
    options = ServeOptions(ListenAddress("127.0.0.1", 0), ping_seconds=ping_seconds)
    server = SolverServer(SchedulerConfiguration(), options)
    address = await server.start()
    try:
        yield str(address)
    finally:
        await server.stop(drain_seconds=1.0)


@asynccontextmanager
async def driving(
    target: str,
    cluster: str = "c",
    fencing: int = 1,
    options: SessionOptions = QUICK,
    *,
    ephemeral: bool = False,
) -> AsyncIterator[Driving]:
    """Run a bridge's session, which says goodbye at the end."""
    driver = Driving(target, cluster, fencing, options, ephemeral=ephemeral)
    driver.session.start()
    running = asyncio.create_task(driver.session.run())
    try:
        yield driver
        driver.session.drain()
        await asyncio.wait_for(running, stretch(10.0))
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def clusters(target: str) -> list[str]:
    """Names of the clusters that the solver knows."""
    async with grpc.aio.insecure_channel(target) as channel:
        return list((await pb_grpc.SchedulerStub(channel).ListState(pb.ListStateRequest())).clusters)
