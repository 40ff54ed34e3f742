"""Connections that stay open and carry small requests, at a fraction of a full HTTP client's cost.

Thousands of bindings a second are thousands of requests of a few hundred bytes. For each request, a general HTTP
client would need several times as much processor time as the system calls.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast
from urllib.parse import urlsplit

from poseidon.kube.client.connection_openings import Openings
from poseidon.kube.client.replies import MalformedReplyError, Reply, ReplyReader, read_whole

_PORTS = {"http": 80, "https": 443}
_LOOKS_PER_EXCHANGE = 10
"""Number of checks for late replies during the longest time that a reply may take."""


class IdleClosedError(ConnectionResetError):
    """The server closed an idle connection just as a request used it again."""


class NotPermittedError(Exception):
    """A request was not sent, because ``may_write`` did not allow it."""


@dataclass(frozen=True, slots=True)
class Address:
    """The server of connections.

    ``tls`` is None for plain HTTP; ``server_name`` must be in the server's certificate.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_name: str | None = None

    @classmethod
    def from_url(cls, url: str, tls: ssl.SSLContext | None, server_name: str | None) -> Address:
        """Return the address that a URL names."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = parts.port or _PORTS[parts.scheme]
        if parts.scheme != "https":
            return cls(host, port)
        return cls(host, port, tls or ssl.create_default_context(), server_name or host)


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """Time limits of connections, in seconds: to open one, and from a request to its reply (up to a tenth more).

    A connection that was idle for ``idle`` is not used again: servers close such connections.
    """

    connect: float = 10.0
    exchange: float = 30.0
    idle: float = 60.0


class ConnectionPool:
    """Connections to one server, each with one request at a time; the connection used last is used first.

    While the server is busy, further requests wait until a connection is free (see ``Openings``). ``clock`` is
    monotonic. ``may_write`` is called right before each request is sent; the request is sent only if it returns True.
    All calls come from one event loop.
    """

    def __init__(
        self,
        address: Address,
        *,
        clock: Callable[[], float],
        options: PoolOptions | None = None,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        self._address = address
        self._may_write = may_write
        self._clock = clock
        self._options = options or PoolOptions()
        self._idle: deque[tuple[_Connection, float]] = deque()  # longest idle first
        self._open: set[_Connection] = set()
        self._openings: Openings[_Connection] = Openings(lambda: len(self._open), self._give_back)
        self._next_look: asyncio.TimerHandle | None = None

    async def exchange(self, request: bytes, *, urgent: bool = False) -> Reply:
        """Send a whole request, and return its reply. If several requests wait, ``urgent`` ones go first.

        Raises ``OSError`` (such as ``TimeoutError`` or ``IdleClosedError``) or ``MalformedReplyError``; the server may
        have carried out the request nevertheless. A request is never sent twice. If this raises ``NotPermittedError``,
        the request was not sent.
        """
        reused = self._reuse()
        if reused is None and not self._openings.begin():
            reused = await self._wait_for_turn(urgent=urgent)
        connection = reused or await self._open_another()
        sent = self._clock()
        try:
            if not self._may_write():
                raise NotPermittedError  # noqa: TRY301 - the connection is dropped as after any other failure
            reply = await connection.send(request, self._options.exchange)
        except BaseException as error:
            self._drop(connection)
            if reused is not None and connection.was_closed_unanswered:
                raise IdleClosedError("the server closed the connection, which had been idle") from error
            raise
        self._openings.note_answer(self._clock() - sent)
        self._give_back(connection, keeps_open=reply.keeps_open)
        return reply

    def use_tls(self, tls: ssl.SSLContext) -> None:
        """Use ``tls`` for new connections.

        Close idle connections at once, and connections in use after their replies.
        """
        if self._address.tls is None:
            return
        self._address = replace(self._address, tls=tls)
        while self._idle:
            self._drop(self._idle.popleft()[0])

    def close(self) -> None:
        """Close all connections; requests in flight fail. Later requests open new connections."""
        self._idle.clear()
        self._openings.close()
        while self._open:
            self._open.pop().close()
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None

    def _reuse(self) -> _Connection | None:
        self._drop_long_idle()
        while self._idle:
            connection, _ = self._idle.pop()
            if connection.is_open:
                return connection
            self._drop(connection)
        return None

    def _drop_long_idle(self) -> None:
        oldest = self._clock() - self._options.idle
        while self._idle and self._idle[0][1] <= oldest:
            self._drop(self._idle.popleft()[0])

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let requests fail that have waited too long for their replies; repeat from time to time."""
        # A timer for every request would cost as much as sending the request.
        self._drop_long_idle()
        now = loop.time()
        for connection in self._open:
            connection.give_up_if_late(now)
        self._next_look = None
        if self._open:
            self._look_later(loop)

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._next_look is None:
            self._next_look = loop.call_later(self._options.exchange / _LOOKS_PER_EXCHANGE, self._look, loop)

    def _give_back(self, connection: _Connection, *, keeps_open: bool = True) -> None:
        usable = connection.is_open and connection.tls is self._address.tls
        if not (keeps_open and usable and connection in self._open):
            self._drop(connection)
        elif not self._openings.hand_over(connection):
            self._idle.append((connection, self._clock()))

    async def _wait_for_turn(self, *, urgent: bool) -> _Connection | None:
        """Return a connection that another request gave back, or None if this request has begun to open one."""
        while True:
            connection = await self._openings.wait(urgent=urgent)
            if connection is None or connection.is_open:
                return connection
            self._drop(connection)  # The connection was closed at the moment when it was handed over.
            if self._openings.begin():
                return None

    async def _open_another(self) -> _Connection:
        try:
            return await self._connect()
        finally:
            self._openings.end()

    async def _connect(self) -> _Connection:
        address = self._address
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._options.connect):
            _, connection = await loop.create_connection(
                lambda: _Connection(loop, address.tls),
                address.host,
                address.port,
                ssl=address.tls,
                server_hostname=address.server_name,
            )
        self._open.add(connection)
        self._look_later(loop)
        return connection

    def _drop(self, connection: _Connection) -> None:
        self._open.discard(connection)
        connection.close()
        self._openings.let_open()


class _Connection(asyncio.Protocol):
    """One connection with one request at a time. ``tls`` is the TLS context with which the connection was opened."""

    def __init__(self, loop: asyncio.AbstractEventLoop, tls: ssl.SSLContext | None) -> None:
        self.tls = tls
        self.was_closed_unanswered = False
        """Whether the server closed the connection before it sent any byte of a reply."""
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._reader: ReplyReader | None = None  # the reader of a reply that came in pieces
        self._answer: asyncio.Future[Reply] | None = None
        self._late_at = 0.0

    @property
    def is_open(self) -> bool:
        """Whether a request may be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def send(self, request: bytes, seconds: float) -> asyncio.Future[Reply]:
        """Send a request; return a future of its reply, which fails if it takes too long or does not come.

        Raises ``ConnectionResetError`` if the connection is closed.
        """
        if self._transport is None:
            raise ConnectionResetError("the server closed the connection")
        self._reader = None
        self._late_at = self._loop.time() + seconds
        answer = self._answer = self._loop.create_future()
        self._transport.write(request)
        return answer

    def close(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def give_up_if_late(self, now: float) -> None:
        """Stop waiting for a reply that is late."""
        if self._answer is not None and not self._answer.done() and now >= self._late_at:
            self._answer.set_exception(TimeoutError())

    # --- calls by the event loop -------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Other event loops may have streams that do not inherit from asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None or answer.done():
            # A server may say why it closes an idle connection; no request waits for that text.
            self.close()
            return
        try:
            reply = self._read(data)
        except MalformedReplyError as error:
            answer.set_exception(error)
            return
        if reply is not None:
            answer.set_result(reply)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._answer is None or self._answer.done():
            return
        self.was_closed_unanswered = self._reader is None
        if error is not None:
            self._answer.set_exception(error)
            return
        try:
            self._answer.set_result((self._reader or ReplyReader()).finish())
        except MalformedReplyError as unfinished:
            self._answer.set_exception(unfinished)

    def _read(self, data: bytes) -> Reply | None:
        """Feed data to the reply; return the reply once it is whole."""
        if self._reader is None:
            reply = read_whole(data)
            if reply is not None:
                return reply
            self._reader = ReplyReader()
        return self._reader.feed(data)


# --- sockets that notice when the other end has vanished silently ---------------------------------
# A watch may
# be silent for minutes, and a machine that loses its power, or a load balancer that forgets a connection, says
# nothing. Without probes, the connection's client would continue to wait, with an increasingly outdated copy of the
# cluster.

AddressInfo: TypeAlias = (
    "tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[Any, ...]]"
)

SILENT_SECONDS = 15
PROBE_SECONDS = 5
PROBES = 3
"""A connection is closed after this many probes without an answer, about half a minute in all.

A connection is probed after ``SILENT_SECONDS`` without data, then every ``PROBE_SECONDS``.
"""

# Some systems lack some of these socket options.
_OPTIONS = (("TCP_KEEPIDLE", SILENT_SECONDS), ("TCP_KEEPINTVL", PROBE_SECONDS), ("TCP_KEEPCNT", PROBES))


def probing_socket(address: AddressInfo) -> socket.socket:
    """Return a socket for an address from ``getaddrinfo`` that probes a silent peer."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _OPTIONS:
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
