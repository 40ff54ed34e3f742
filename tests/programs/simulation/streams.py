"""Streams between bridges and the solver: what gRPC does, over the simulated network.

Messages are bytes on the way, arrive in order, and are lost with their stream. Each end is what the real code is given
by ``grpc.aio``, as far as it uses it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, Self

import grpc
from grpc import aio

from firmament.server.service import _serialise
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.programs.simulation.network import Network
from tests.programs.simulation.process import Process

_EOF: Any = aio.EOF  # type: ignore[attr-defined]  # its stubs lack it
_PROBED = 30.0
"""After so many seconds without a way through, a connection counts as broken."""


class StreamBrokenError(Exception):
    """The server's side of a stream has lost its client."""


class Pipe:
    """One direction of a stream; ``take`` returns what has arrived, None at the end of this direction."""

    def __init__(self, network: Network, ends: tuple[str, str]) -> None:
        self._network = network
        self._ends = ends
        self._under_way: deque[bytes | None] = deque()
        self._arrived: deque[bytes | None] = deque()
        self._wake: Callable[[], None] = lambda: None

    def send(self, message: bytes | None) -> None:
        """Put a message on its way; it arrives after those that were sent before."""
        self._under_way.append(message)
        self._network.carry(*self._ends, self._network.delay(), self._arrive)

    def _arrive(self) -> None:
        self._arrived.append(self._under_way.popleft())
        self._wake()

    def after_all(self, event: Callable[[], None]) -> None:
        """Call ``event`` when all that was sent has arrived."""
        if self._under_way:
            self._network.carry(*self._ends, self._network.delay(), lambda: self.after_all(event))
        else:
            event()

    def expect(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` when something arrives."""
        self._wake = wake

    @property
    def waits(self) -> bool:
        """Whether something has arrived that has not been taken."""
        return bool(self._arrived)

    def take(self) -> bytes | None:
        """Return the next message."""
        return self._arrived.popleft()


class Stream:
    """A call of ``Session`` from one process to another. Each side finds out in time how it has ended."""

    def __init__(self, network: Network, client: Process, server: Process, monitor: Monitor) -> None:
        self.network = network
        self.client = client
        self.server = server
        ends = client.name, server.name
        self.up, self.down = Pipe(network, ends), Pipe(network, ends)
        self.monitor = monitor
        self.code: grpc.StatusCode | None = None
        self.details = ""
        self.server_lost = False
        self._on_client_end: Callable[[], None] = lambda: None
        self._on_server_end: Callable[[], None] = lambda: None
        self._disconnect = network.connect(*ends, lambda: self.break_off("connection reset"))
        monitor.opened(self)

    def watch_client(self, ended: Callable[[], None]) -> None:
        """Call ``ended`` when the client finds the stream over."""
        self._on_client_end = ended

    def watch_server(self, ended: Callable[[], None]) -> None:
        """Call ``ended`` when the server finds its client gone."""
        self._on_server_end = ended

    def break_off(self, why: str) -> None:
        """Break the stream: both sides find out, each in its own time, and what is on the way is lost."""
        self._disconnect()
        self.finish(grpc.StatusCode.UNAVAILABLE, why)
        self.abandon()

    def abandon(self) -> None:
        """The client is gone, or has cancelled: let the server know."""
        self._disconnect()

        def lost() -> None:
            if not self.server_lost:
                self.server_lost = True
                self._on_server_end()

        self._when_reachable(lost)

    def finish(self, code: grpc.StatusCode, details: str, *, flushed: bool = False) -> None:
        """The stream is over; the client finds out, with ``flushed`` after what has been sent."""

        def over() -> None:
            if self.code is None:
                self.code, self.details = code, details
                self._on_client_end()

        if flushed:
            self.down.after_all(lambda: self._when_reachable(over))
        else:
            self._when_reachable(over)

    def _when_reachable(self, event: Callable[[], None]) -> None:
        queue = self.network.queue
        cut = self.network.cut_until(self.client.name, self.server.name)
        queue.at(min(max(cut, queue.now), queue.now + _PROBED) + self.network.delay(), event)

    def send(self, pipe: Pipe, message: bytes | None) -> None:
        """Put a message on its way, or lose it with the stream."""
        if self.network.chance(self.network.rates.stream_breaks):
            self.break_off("connection reset by peer")
            return
        pipe.send(message)
        cut = self.network.cut_until(self.client.name, self.server.name)
        if cut - self.network.queue.now > _PROBED:
            self.break_off("keepalive watchdog timeout")


class Monitor:
    """Watches what passes over streams; see the oracle."""

    def opened(self, stream: Stream) -> None:
        """A client has opened a stream."""

    def from_client(self, stream: Stream, message: pb.ClientMessage) -> None:
        """The server is about to read a message."""

    def from_server(self, stream: Stream, message: pb.ServerMessage) -> None:
        """The server has sent a message."""

    def ended(self, stream: Stream, code: str, details: str) -> None:
        """The server has ended its side."""


class ClientCall:
    """The client's end: what ``aio.StreamStreamCall`` is to the bridge."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._changed = asyncio.Event()
        self._cancelled = False
        stream.down.expect(self._changed.set)
        stream.watch_client(self._changed.set)

    async def write(self, message: pb.ClientMessage) -> None:
        if self.done():
            raise asyncio.InvalidStateError("RPC already finished")
        self._stream.send(self._stream.up, message.SerializeToString())
        await asyncio.sleep(0)

    async def done_writing(self) -> None:
        if not self.done():
            self._stream.send(self._stream.up, None)

    async def read(self) -> pb.ServerMessage | object:
        stream = self._stream
        while True:
            if stream.code not in (None, grpc.StatusCode.OK) and not self._cancelled:
                raise aio.AioRpcError(stream.code, aio.Metadata(), aio.Metadata(), stream.details, None)
            if stream.down.waits:
                message = stream.down.take()
                return pb.ServerMessage.FromString(message or b"")
            if self.done():
                return _EOF
            self._changed.clear()
            await self._changed.wait()

    def done(self) -> bool:
        return self._cancelled or self._stream.code is not None

    async def code(self) -> grpc.StatusCode:
        while not self.done():
            self._changed.clear()
            await self._changed.wait()
        return self._stream.code or grpc.StatusCode.CANCELLED

    async def details(self) -> str:
        await self.code()
        return self._stream.details

    def cancel(self) -> bool:
        if not self.done():
            self._cancelled = True
            self._stream.abandon()
        return True


class Channel:
    """The client's channel; ``reach`` opens a stream, or returns None where nobody answers."""

    def __init__(self, reach: Callable[[], Stream]) -> None:
        self._reach = reach

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Calls have been cancelled by then."""

    def stream_stream(self, *_: Any, **__: Any) -> Callable[[None], ClientCall]:
        return lambda _: ClientCall(self._reach())

    def unary_unary(self, *_: Any, **__: Any) -> None:
        """The bridge makes no such calls."""


class AbortedError(Exception):
    """What ``context.abort`` raises."""


class ServerContext:
    """What ``grpc.aio.ServicerContext`` is to the service."""

    def __init__(self) -> None:
        self.code, self.details = grpc.StatusCode.OK, ""

    async def abort(self, code: grpc.StatusCode, details: str) -> None:
        self.code, self.details = code, details
        raise AbortedError


class Requests:
    """What the server reads: the client's messages until it closes its side."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._changed = asyncio.Event()
        stream.up.expect(self._changed.set)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> pb.ClientMessage:
        while not self._stream.up.waits:
            self._changed.clear()
            await self._changed.wait()
        raw = self._stream.up.take()
        if raw is None:
            raise StopAsyncIteration
        message = pb.ClientMessage.FromString(raw)
        self._stream.monitor.from_client(self._stream, message)
        return message


async def serve(stream: Stream, service: Any) -> None:
    """Answer a stream with the service, as a gRPC server does: cancelled when the client is gone."""
    context = ServerContext()
    handling = asyncio.current_task()
    assert handling is not None

    def lost() -> None:
        handling.cancel()

    stream.watch_server(lost)
    try:
        if stream.server_lost:
            return
        async with aclosing(service.Session(Requests(stream), context)) as messages:
            async for message in messages:
                raw = _serialise(message)
                stream.monitor.from_server(stream, pb.ServerMessage.FromString(raw))
                stream.send(stream.down, raw)
    except AbortedError:
        pass
    finally:
        stream.watch_server(lambda: None)
        stream.monitor.ended(stream, context.code.name, context.details)
        stream.finish(context.code, context.details, flushed=True)
