"""A server in the test's own loop, and a driver that speaks the protocol by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, cast

import grpc

from firmament.configuration.document import SchedulerConfiguration
from firmament.server.access.address import ListenAddress
from firmament.server.rounds.round_saver import SavedRoundsFolder
from firmament.server.solver_server import ServeOptions, SolverServer
from firmament.solvers.process_solver import DEFAULT_SOLVER
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc
from tests.support.time_limits import stretch
from tests.support.waiting import until

SECONDS = 30.0
END: Any = grpc.aio.EOF  # type: ignore[attr-defined] # missing in grpc-stubs


class StreamEndedError(Exception):
    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(f"{code.name}: {details}")
        self.code = code
        self.details = details


class Driver:
    """Sends what a test tells it to and keeps what comes back."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.sequence = 0
        self.acked = 0
        self.rounds: list[pb.RoundResult] = []
        self.placed: dict[str, str] = {}
        self.unscheduled: dict[str, str] = {}

    async def send(self, **body: Any) -> None:
        await self.call.write(pb.ClientMessage(**body))

    async def hello(self, cluster: str = "c", fencing: int = 1, major: int = 1, minor: int = 2) -> pb.Welcome:
        hello = pb.Hello(
            version_major=major, version_minor=minor, cluster=cluster, fencing=fencing, client="test"
        )
        await self.send(hello=hello)
        return (await self.receive()).welcome

    async def events(self, *events: pb.Event, sequence: int | None = None) -> None:
        self.sequence = self.sequence + 1 if sequence is None else sequence
        await self.send(events=pb.EventBatch(sequence=self.sequence, events=events))

    async def snapshot(self, *events: pb.Event) -> None:
        await self.send(snapshot_begin=pb.SnapshotBegin())
        if events:
            await self.events(*events)
        await self.send(snapshot_end=pb.SnapshotEnd())

    async def report(self, uids: Iterable[str], **fields: Any) -> None:
        reports = [pb.BindingReport(task=uid, machine=self.placed[uid], **fields) for uid in uids]
        await self.send(reports=pb.BindingReports(reports=reports))

    async def receive(self) -> pb.ServerMessage:
        """Return the next message, noting what it says; raises ``StreamEndedError``."""
        async with asyncio.timeout(stretch(SECONDS)):
            try:
                message = await self.call.read()
            except grpc.aio.AioRpcError as error:
                raise StreamEndedError(error.code(), error.details() or "") from error
            if message is END:
                raise StreamEndedError(await self.call.code(), await self.call.details())
        body = message.WhichOneof("body")
        if body == "ack":
            assert message.ack.sequence > self.acked
            self.acked = message.ack.sequence
        elif body == "round":
            self.rounds.append(message.round)
            self.placed.update({delta.task: delta.machine for delta in message.round.deltas})
            for group in message.round.unscheduled:
                self.unscheduled.update(dict.fromkeys(group.tasks, group.message))
        return cast("pb.ServerMessage", message)

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self.receive()

    async def end(self) -> StreamEndedError:
        """Receive until the stream ends, and return how."""
        while True:
            try:
                await self.receive()
            except StreamEndedError as ended:
                return ended


class Running:
    """A started server and ways to call it."""

    def __init__(self, server: SolverServer, address: ListenAddress, channel: grpc.aio.Channel) -> None:
        self.server = server
        self.address = address
        self.channel = channel
        self.stub: Any = scheduler_pb2_grpc.SchedulerStub(channel)

    def driver(self) -> Driver:
        return Driver(self.stub.Session())

    async def driving(self, *events: pb.Event, cluster: str = "c", fencing: int = 1) -> Driver:
        """Return a driver whose snapshot of these events is complete, as the acknowledged batch after it tells."""
        driver = self.driver()
        await driver.hello(cluster, fencing)
        await driver.snapshot(*events)
        await driver.events()
        await driver.until(lambda: driver.acked == driver.sequence)
        return driver

    async def state(self, cluster: str = "c", *, with_tasks: bool = False) -> pb.ListStateResponse:
        request = pb.ListStateRequest(cluster=cluster, with_tasks=with_tasks)
        return cast("pb.ListStateResponse", await self.stub.ListState(request))

    def metric(self, name: str, **labels: str) -> float:
        return self.server.metrics.registry.get_sample_value(name, labels) or 0.0


@asynccontextmanager
async def running_server(
    *,
    solver: str = DEFAULT_SOLVER,
    configuration: SchedulerConfiguration | None = None,
    saved_rounds: SavedRoundsFolder | None = None,
    clock: Callable[[], float] | None = None,
) -> AsyncIterator[Running]:
    options = ServeOptions(ListenAddress("127.0.0.1", 0), saved_rounds=saved_rounds, solver=solver)
    server = SolverServer(configuration or SchedulerConfiguration(), options, clock=clock)
    try:
        address = await server.start()
        async with grpc.aio.insecure_channel(str(address)) as channel:
            yield Running(server, address, channel)
    finally:
        await server.stop(drain_seconds=1.0)


async def eventually(condition: Callable[[], Any]) -> None:
    """Wait until the condition, which may be a coroutine function, holds."""
    await until(condition, within=SECONDS)


# --- events ---------------------------------------------------------------------------------------------------


def machine(name: str, cpu: int = 1000, memory: int = 2**30, pods: int = 10) -> pb.Event:
    allocatable = [
        pb.Quantity(resource="cpu", amount=cpu),
        pb.Quantity(resource="memory", amount=memory),
        pb.Quantity(resource="pods", amount=pods),
    ]
    return pb.Event(machine=pb.Machine(name=name, allocatable=allocatable))


def task_class(number: int = 1, cpu: int = 100) -> pb.Event:
    requests = [pb.Quantity(resource="cpu", amount=cpu)]
    return pb.Event(task_class=pb.TaskClass(id=number, requests=requests))


def tasks(*uids: str, number: int = 1) -> pb.Event:
    return pb.Event(tasks=pb.TaskBatch(task_class=number, uids=uids))


def bound(name: str, *uids: str, number: int = 1) -> pb.Event:
    return pb.Event(bound=pb.BoundTasks(machine=name, task_class=number, uids=uids))
