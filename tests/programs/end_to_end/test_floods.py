"""Whoever reaches the solver's port and floods it is refused or cut off, and pods of others are placed meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import Counter, deque
from typing import Any

import grpc
import psutil
from grpc import aio

from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc
from tests.programs.end_to_end.scene import Scene, names, scene
from tests.support.effort import examples
from tests.support.time_limits import stretch

MEGABYTE = 2**20
MOST_GROWTH = 400 * MEGABYTE
"""What a flood may take of the solver's memory; its container has 4 GiB."""


async def placed_meanwhile(s: Scene, what: str) -> None:
    """Pods that come up now are placed."""
    before = s.count_bound()
    await s.pods(names(what, 3))
    await s.until_bound(before + 3)


def memory_of(s: Scene) -> int:
    return int(psutil.Process(s.stack.solver.pid).memory_info().rss)


async def test_a_message_of_a_gigabyte(tmp_path):
    async with scene(tmp_path) as s:
        await s.nodes(2)
        await s.start(own_solver=True)
        await placed_meanwhile(s, "before")
        held = memory_of(s)

        options = [("grpc.max_send_message_length", -1)]
        async with aio.insecure_channel(s.stack.solver_address, options=options) as channel:
            explain = channel.unary_unary(
                "/firmament.v1.Scheduler/Explain",
                request_serializer=bytes,
                response_deserializer=pb.Explanation.FromString,
            )
            call = explain(bytes(1024 * MEGABYTE - 1), timeout=60)
            await placed_meanwhile(s, "while")
            assert await call.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert "larger than max (1073741823 vs. 33554432)" in str(await call.details())
        assert memory_of(s) - held < MOST_GROWTH


async def test_thousands_of_connections_that_stand_there(tmp_path):
    connections = examples(10_000)
    config = tmp_path / "configuration.yaml"
    head = "{apiVersion: firmament.io/v1alpha1, kind: SchedulerConfiguration"
    config.write_text(f"{head}, limits: {{helloTimeout: 2s}}}}")
    async with scene(tmp_path, config=config) as s:
        await s.nodes(2)
        await s.start(own_solver=True)
        await placed_meanwhile(s, "before")
        held = memory_of(s)
        host, _, port = s.stack.solver_address.rpartition(":")
        standing = []
        try:
            for _ in range(connections):
                standing += [socket.create_connection((host, int(port)), timeout=10.0)]
            await placed_meanwhile(s, "while")
            assert memory_of(s) - held < MOST_GROWTH
            async with aio.insecure_channel(s.stack.solver_address) as channel:  # one more comes in
                await pb_grpc.SchedulerStub(channel).ListState(pb.ListStateRequest(), timeout=stretch(10))
            # Who has said nothing in time is cut off.
            last = standing[-1]
            last.settimeout(30.0)

            def until_cut_off() -> None:
                with contextlib.suppress(ConnectionResetError):
                    while last.recv(1024):
                        pass

            await asyncio.to_thread(until_cut_off)
        finally:
            for each in standing:
                each.close()


async def test_thousands_of_names_of_clusters(tmp_path):
    clusters = examples(3_000)
    async with scene(tmp_path) as s:
        await s.nodes(2)
        await s.start(own_solver=True)
        await placed_meanwhile(s, "before")
        held = memory_of(s)
        answers: Counter[str] = Counter()
        async with aio.insecure_channel(s.stack.solver_address) as channel:
            at_a_time = asyncio.Semaphore(50)
            stub: Any = pb_grpc.SchedulerStub(channel)
            # Sessions stay open, so that others are refused; one of them ends after every tenth answer.
            standing: deque[Any] = deque()

            async def open_as(cluster: str) -> None:
                hello = pb.Hello(version_major=1, version_minor=2, cluster=cluster, fencing=1, client="x")
                async with at_a_time:
                    call = stub.Session()
                    opened = False
                    with contextlib.suppress(aio.AioRpcError):  # refused while it writes
                        await call.write(pb.ClientMessage(hello=hello))
                        opened = isinstance(await call.read(), pb.ServerMessage)
                    answers["opened" if opened else (await call.code()).name] += 1
                    if opened:
                        standing.append(call)
                    if standing and answers.total() % 10 == 0:
                        standing.popleft().cancel()

            flooding = asyncio.gather(*(open_as(f"c{number}") for number in range(clusters)))
            await placed_meanwhile(s, "while")
            await flooding
            for call in standing:
                call.cancel()
            listed = await pb_grpc.SchedulerStub(channel).ListState(pb.ListStateRequest())
        assert sum(answers.values()) == clusters
        # Of a refusal that comes while it writes, gRPC's client knows no more than that writing failed: INTERNAL.
        assert (
            {"opened", "RESOURCE_EXHAUSTED"} <= set(answers) <= {"opened", "RESOURCE_EXHAUSTED", "INTERNAL"}
        )
        assert len(listed.clusters) <= 32 + 16
        assert s._cluster_name in listed.clusters
        assert memory_of(s) - held < MOST_GROWTH
        await placed_meanwhile(s, "after")
