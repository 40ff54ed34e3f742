"""A driver whose events wait for a long round hears that the server is at work, until that takes absurdly long."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any

import grpc
import pytest

from firmament.core.configuration import CoreConfiguration
from firmament.core.scheduler import Scheduler
from firmament.server.cluster import ServedCluster
from firmament.server.cluster_registry import ClusterRegistry
from firmament.server.driving.loop import RoundRunner
from firmament.server.metrics import Metrics
from firmament.server.outbox import DriverOutbox
from firmament.server.service import SchedulerService, add_service
from firmament.server.session import SessionSettings
from firmament.server.signs_of_life import SignsOfLife
from firmament.solvers.ortools_solver import OrToolsSolver
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc
from tests.firmament.server.driving import SECONDS, machine
from tests.support.time_limits import stretch

EVERY = 0.02


@dataclass
class Gate:
    """A clock that stands still, and the round that reads it, while the gate is shut."""

    may_pass: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> float:
        assert self.may_pass.wait(SECONDS)
        return 1_000.0


async def test_a_driver_hears_of_a_batch_that_waits():
    gate = Gate()
    gate.may_pass.set()
    registry = ClusterRegistry(
        lambda name: ServedCluster(
            name, lambda: Scheduler(configuration=CoreConfiguration(), solver=OrToolsSolver(), clock=gate)
        )
    )
    metrics = Metrics()
    settings = SessionSettings(0.0, alive_seconds=EVERY)
    server = grpc.aio.server()
    add_service(SchedulerService(registry, RoundRunner(metrics), settings, metrics), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with (
            asyncio.timeout(stretch(SECONDS)),
            grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
        ):
            await _converse(pb_grpc.SchedulerStub(channel).Session(None), gate)
    finally:
        gate.may_pass.set()
        await server.stop(None)


async def _converse(call: Any, gate: Gate) -> None:
    await call.write(
        pb.ClientMessage(hello=pb.Hello(version_major=1, version_minor=2, cluster="c", fencing=1))
    )
    assert (await call.read()).HasField("welcome")
    await call.write(pb.ClientMessage(snapshot_begin=pb.SnapshotBegin()))
    await call.write(pb.ClientMessage(events=pb.EventBatch(sequence=1, events=[machine("m")])))
    while (await call.read()).ack.sequence != 1:
        pass  # a slow machine may have had to say that it is at work
    gate.may_pass.clear()
    many = [machine(f"n{number}") for number in range(500)]  # few are applied before anybody could wait
    await call.write(pb.ClientMessage(events=pb.EventBatch(sequence=2, events=many)))
    for _ in range(3):
        assert (await call.read()).ack.sequence == 1
    gate.may_pass.set()
    while (await call.read()).ack.sequence != 2:
        pass
    call.cancel()


async def _heard(signs: SignsOfLife, outbox: DriverOutbox, *, seconds: float) -> int:
    """How often a driver hears of a message that waits so long, or until it has heard of it."""
    heard = 0
    telling = asyncio.create_task(signs.run())
    with signs.repeat_during(7):
        until = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < until and not heard:
            try:
                async with asyncio.timeout(EVERY):
                    message = await outbox.pop()
            except TimeoutError:
                continue
            assert isinstance(message, pb.ServerMessage)
            assert message.ack.sequence == 7
            heard += 1
    telling.cancel()
    return heard


@pytest.mark.parametrize(("hung", "heard", "seconds"), [(SECONDS, True, SECONDS), (0.0, False, 10 * EVERY)])
async def test_what_hangs_is_not_at_work(hung: float, heard: bool, seconds: float):
    outbox = DriverOutbox()
    assert bool(await _heard(SignsOfLife(outbox, EVERY, hung), outbox, seconds=seconds)) is heard
