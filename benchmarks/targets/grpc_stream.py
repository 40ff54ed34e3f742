"""Runs workloads on ``firmament serve`` over one gRPC stream, with the bridge's translation in this process."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Self

from grpc import aio

from benchmarks.declarative.templates import Manifest
from benchmarks.targets.base import Figures, TargetError
from benchmarks.targets.bridge_translation import ManifestBridge
from poseidon.bridge.solver_stream.batches import split_events
from poseidon.demo.binding_latency import PodName
from protos.firmament.v1 import scheduler_pb2 as pb
from protos.firmament.v1 import scheduler_pb2_grpc as pb_grpc

MESSAGE_BYTES = 64 * 2**20
BATCH_EVENTS, BATCH_BYTES = 2000, 2**20
_OPTIONS = [
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.max_send_message_length", MESSAGE_BYTES),
]


class GrpcTarget:
    """The driver of one cluster at a solver: ``async with``.

    Seconds run from the first object translated to the last delta. ``timeout`` bounds each wait, in seconds.
    """

    stage = "gRPC"

    def __init__(
        self,
        address: str,
        cluster: str,
        needs: Sequence[str],
        *,
        timeout: float = 600.0,
        timer: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._bridge = ManifestBridge(needs, timer)
        self._hello = pb.Hello(
            version_major=1, version_minor=2, cluster=cluster, fencing=1, client="benchmarks"
        )
        self._timeout = timeout
        self._timer = timer
        self._channel = aio.insecure_channel(address, options=_OPTIONS)
        self._stream = pb_grpc.SchedulerStub(self._channel).Session(None)
        self._writing = asyncio.Lock()
        self._progressed = asyncio.Event()
        self._sequence = self._acknowledged = 0
        self._figures: Figures | None = None
        self._begun = self._last = 0.0
        self._bound_before = 0
        self._objects = 0
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._stream.write(pb.ClientMessage(hello=self._hello))
        await self._stream.write(pb.ClientMessage(snapshot_begin=pb.SnapshotBegin()))
        await self._stream.write(pb.ClientMessage(snapshot_end=pb.SnapshotEnd()))
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
        await self._channel.close(None)

    # --- what a runner asks ------------------------------------------------------------------------------------

    async def create(self, objects: Sequence[Manifest]) -> None:
        """Translate and send objects; the stream's flow control limits the events that are not applied yet."""
        begin = self._timer()
        self._bridge.create(objects)
        self._objects += len(objects)
        await self._send(begin)

    async def delete(self, pods: Iterable[PodName]) -> None:
        """Remove pods: translate and send the events."""
        begin = self._timer()
        self._bridge.delete(pods)
        await self._send(begin)

    async def advance(self, seconds: float) -> None:
        """Wait; the solver works independently."""
        await asyncio.sleep(seconds)

    async def settle(self) -> None:
        """Wait until all messages are acknowledged and every pod has been decided."""
        await self._wait_until(lambda: self._acknowledged >= self._sequence and not self._bridge.unsettled)

    def begin(self) -> None:
        """Start measuring."""
        self._bridge.latencies.clear()
        self._bound_before = self._bridge.placed
        self._figures = Figures()
        self._objects = 0
        self._begun = self._last = self._timer()

    def end(self) -> Figures:
        """Stop measuring."""
        figures, self._figures = self._figures, None
        assert figures is not None
        figures.seconds = self._last - self._begun
        figures.bound = self._bridge.placed - self._bound_before
        figures.waiting = self._bridge.waiting
        figures.latencies = sorted(self._bridge.latencies)
        figures.extra["objectsSent"] = self._objects
        return figures

    # --- the stream --------------------------------------------------------------------------------------------

    async def _send(self, begin: float) -> None:
        events = self._bridge.take_events()
        if self._figures is not None:
            self._figures.add("translate", self._timer() - begin)
        async with self._writing:  # a stream takes one message at a time; callers write in order of arrival
            for message in split_events(events, BATCH_EVENTS, BATCH_BYTES):
                self._sequence += 1
                message.events.sequence = self._sequence
                await self._stream.write(message)
            reports = self._bridge.take_reports()
            if reports:
                await self._stream.write(pb.ClientMessage(reports=pb.BindingReports(reports=reports)))

    async def _read(self) -> None:
        try:
            async for message in self._stream:
                match message.WhichOneof("body"):
                    case "ack":
                        self._acknowledged = max(self._acknowledged, message.ack.sequence)
                    case "round":
                        await self._on_round(message.round)
                self._progressed.set()
        finally:
            self._progressed.set()

    async def _on_round(self, result: pb.RoundResult) -> None:
        now = self._timer()
        self._bridge.on_round(result)
        if result.deltas or result.unscheduled:
            self._last = now
        if self._figures is not None:
            self._figures.rounds.append(result.stats)
            self._figures.curve.append((now - self._begun, self._bridge.placed - self._bound_before))
        await self._send(self._timer())

    async def _wait_until(self, condition: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(self._timeout):
                while not condition():
                    if self._reader is not None and self._reader.done():
                        raise TargetError(
                            f"the solver ended the stream: {self._reader.exception() or 'no reason'}"
                        )
                    self._progressed.clear()
                    await self._progressed.wait()
        except TimeoutError:
            unsettled = self._bridge.unsettled
            raise TargetError(
                f"{unsettled} pods were neither placed nor refused within {self._timeout:g} s"
            ) from None
