"""Kept-open connections that carry small requests at a fraction of what a full HTTP client spends on each.

Thousands of bindings a second are as many requests of a few hundred bytes; what a general client does for each
costs several times what the system calls do.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

from poseidon.kube.replies import MalformedReplyError, Reply, ReplyReader

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """Where connections lead. ``tls`` is None for plain HTTP; ``server_name`` is whom its certificate has to name."""

    host: str
    port: int
    tls: ssl.SSLContext | None = None
    server_name: str | None = None

    @classmethod
    def of(cls, url: str, tls: ssl.SSLContext | None, server_name: str | None) -> Address:
        """Return the address that a URL names."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = parts.port or _PORTS[parts.scheme]
        if parts.scheme != "https":
            return cls(host, port)
        return cls(host, port, tls or ssl.create_default_context(), server_name or host)


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """Seconds: to open a connection, and from a request to its reply.

    A connection that was idle for ``idle`` is not used again: servers close those that they forget.
    """

    connect: float = 10.0
    exchange: float = 30.0
    idle: float = 60.0


class ConnectionPool:
    """Connections to one server, as many as there are requests at a time; the latest used first.

    ``clock`` is monotonic. All calls come from one event loop.
    """

    def __init__(
        self, address: Address, *, clock: Callable[[], float], options: PoolOptions | None = None
    ) -> None:
        self._address = address
        self._clock = clock
        self._options = options or PoolOptions()
        self._idle: deque[tuple[_Connection, float]] = deque()  # the longest idle first
        self._open: set[_Connection] = set()

    async def exchange(self, request: bytes) -> Reply:
        """Send a whole request, and return its reply.

        Raises ``OSError`` (a ``TimeoutError`` among them) or ``MalformedReplyError``; it is unknown then whether the
        request has been carried out. It is never sent twice.
        """
        connection = self._reuse() or await self._connect()
        try:
            reply = await connection.exchange(request, self._options.exchange)
        except BaseException:
            self._drop(connection)
            raise
        self._give_back(connection, keeps_open=reply.keeps_open)
        return reply

    def close(self) -> None:
        """Close all connections; requests in flight fail. Further requests open new ones."""
        self._idle.clear()
        while self._open:
            self._open.pop().close()

    def _reuse(self) -> _Connection | None:
        oldest = self._clock() - self._options.idle
        while self._idle and self._idle[0][1] <= oldest:
            self._drop(self._idle.popleft()[0])
        while self._idle:
            connection, _ = self._idle.pop()
            if connection.is_open:
                return connection
            self._drop(connection)
        return None

    def _give_back(self, connection: _Connection, *, keeps_open: bool) -> None:
        if keeps_open and connection.is_open and connection in self._open:
            self._idle.append((connection, self._clock()))
        else:
            self._drop(connection)

    async def _connect(self) -> _Connection:
        address = self._address
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._options.connect):
            _, connection = await loop.create_connection(
                lambda: _Connection(loop),
                address.host,
                address.port,
                ssl=address.tls,
                server_hostname=address.server_name,
            )
        self._open.add(connection)
        return connection

    def _drop(self, connection: _Connection) -> None:
        self._open.discard(connection)
        connection.close()


class _Connection(asyncio.Protocol):
    """One connection; one request at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._reader = ReplyReader()
        self._answer: asyncio.Future[Reply] | None = None

    @property
    def is_open(self) -> bool:
        """Whether a request may be sent."""
        return self._transport is not None and not self._transport.is_closing()

    async def exchange(self, request: bytes, seconds: float) -> Reply:
        """Send a request and wait so long for the reply. Raises ``OSError`` or ``MalformedReplyError``."""
        if self._transport is None:
            raise ConnectionResetError("the server closed the connection")
        self._reader = ReplyReader()
        self._answer = self._loop.create_future()
        self._transport.write(request)
        # A timer and a future: asyncio.timeout takes several times as long, and this happens for every binding.
        timer = self._loop.call_later(seconds, self._give_up, self._answer)
        try:
            return await self._answer
        finally:
            timer.cancel()

    def close(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    @staticmethod
    def _give_up(answer: asyncio.Future[Reply]) -> None:
        if not answer.done():
            answer.set_exception(TimeoutError())

    # --- what the event loop says --------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Those of other event loops need not inherit from asyncio's.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            # A server says why it closes an idle connection; nobody waits for that.
            self.close()
            return
        try:
            reply = self._reader.feed(data)
        except MalformedReplyError as error:
            self._answer.set_exception(error)
            return
        if reply is not None:
            self._answer.set_result(reply)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        if self._answer is None or self._answer.done():
            return
        if error is not None:
            self._answer.set_exception(error)
            return
        try:
            self._answer.set_result(self._reader.finish())
        except MalformedReplyError as unfinished:
            self._answer.set_exception(unfinished)
