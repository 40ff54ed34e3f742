"""What goes on in the server while a cluster is busy opening a round."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from protos.firmament.v1 import scheduler_pb2 as pb
from tests.firmament.server.driving import (
    SECONDS,
    Driver,
    Running,
    eventually,
    machine,
    running_server,
    task_class,
    tasks,
)
from tests.support.time_limits import stretch

WORLD = (machine("m1"), machine("m2"), task_class())


class Gate:
    """A clock that stands still, and whoever reads it with it, while the gate is shut."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self._open.set()
        self.reached = threading.Event()
        self.given_up = False

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def __call__(self) -> float:
        if not self._open.is_set():
            self.reached.set()
            self.given_up |= not self._open.wait(
                stretch(SECONDS)
            )  # a loop that waits for this, too, must get on
        return time.time()


async def test_others_are_answered_while_a_driver_waits_for_a_busy_cluster():
    gate = Gate()
    async with running_server(clock=gate) as running:
        await running.driving(*WORLD, tasks("a"))
        round_ = await _round_at(gate, running)
        newer = running.driver()
        greeted = asyncio.create_task(newer.hello(fencing=2))
        for _ in range(5):
            health = health_pb2_grpc.HealthStub(running.channel)
            reply = await health.Check(health_pb2.HealthCheckRequest())
            assert reply.status == health_pb2.HealthCheckResponse.SERVING
        assert not gate.given_up, "answered once the clock went on"
        assert not greeted.done()
        gate.open()
        assert (await greeted).reset_required
        await round_


async def test_a_driver_that_goes_while_it_waits_for_a_busy_cluster_does_not_keep_it():
    gate = Gate()
    async with running_server(clock=gate) as running:
        former = await running.driving(*WORLD, tasks("a"))
        round_ = await _round_at(gate, running)
        newer = await _newcomer(running)
        newer.call.cancel()
        gate.open()
        await round_
        await eventually(lambda: running.metric("firmament_sessions") == 0)
        assert (await former.end()).code is grpc.StatusCode.ABORTED
        # Nobody drives the cluster now, so a round may be asked for, which the snapshot of a driver would forbid.
        assert await _schedule(running.stub)


async def test_a_server_that_stops_ends_the_stream_of_a_driver_that_waits_for_a_busy_cluster():
    gate = Gate()
    async with running_server(clock=gate) as running:
        await running.driving(*WORLD, tasks("a"))
        round_ = await _round_at(gate, running)
        newer = await _newcomer(running)
        stopping = asyncio.create_task(running.server.stop())
        late = running.driver()
        with contextlib.suppress(grpc.aio.AioRpcError):  # it may be refused while it still writes
            await late.send(
                hello=pb.Hello(version_major=1, version_minor=2, cluster="other", fencing=1, client="test")
            )
        assert (await late.end()).code is grpc.StatusCode.UNAVAILABLE
        gate.open()
        assert (await newer.end()).code is grpc.StatusCode.UNAVAILABLE
        await stopping
        await round_


async def test_a_round_that_finds_the_solver_closed_is_refused_as_one_that_comes_too_late():
    async with running_server() as running:
        running.server._solver.close()
        await running.driving(*WORLD, tasks("a"))
        call = running.stub.Schedule(pb.ScheduleRequest(cluster="c"))
        assert await call.code() is grpc.StatusCode.UNAVAILABLE


async def _round_at(gate: Gate, running: Running) -> asyncio.Task[bool]:
    """A round that has been asked for, and waits at the gate, now shut, with the cluster locked."""
    gate.shut()
    round_ = asyncio.create_task(_schedule(running.stub))
    await eventually(gate.reached.is_set)
    return round_


async def _newcomer(running: Running) -> Driver:
    """A second driver of the cluster, whose session has begun and waits."""
    newer = running.driver()
    await newer.send(hello=pb.Hello(version_major=1, version_minor=2, cluster="c", fencing=2, client="test"))
    await eventually(lambda: running.metric("firmament_sessions") == 2)
    return newer


async def _schedule(stub: Any) -> bool:
    """Ask for a round; returns whether there was one: not without a state, nor once the server stops."""
    try:
        await stub.Schedule(pb.ScheduleRequest(cluster="c"))
    except grpc.aio.AioRpcError as error:
        refusals = grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.ABORTED, grpc.StatusCode.UNAVAILABLE
        if error.code() not in refusals:
            raise
        return False
    return True
