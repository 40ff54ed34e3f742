"""Limits the number of connections to the page's port, and closes connections that are silent for too long.

A connection may be silent for some seconds before its first complete request, and between two requests. If there are
too many connections, the one that has waited longest is closed. A browser, or a kubelet's probe, can therefore always
connect. Requests that are being answered are never cut off; their number has a limit of its own.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import cast

SWEEP_SECONDS = 1.0


class Connections:
    """The open connections, at most ``most``.

    ``head`` is the time until a connection's first complete request; ``idle`` is the time between two requests, and
    the time to receive an answer; both are in seconds. ``clock`` returns seconds that never decrease.
    """

    def __init__(self, most: int, head: float, idle: float, clock: Callable[[], float]) -> None:
        self._most, self._head, self._idle, self._clock = most, head, idle, clock
        self._waiting: OrderedDict[asyncio.Transport, float] = OrderedDict()
        self._busy: set[asyncio.Transport] = set()

    def __len__(self) -> int:
        return len(self._waiting) + len(self._busy)

    def add(self, transport: asyncio.Transport) -> bool:
        """Add a connection; if the server has too many, close the one that has waited longest.

        Return whether the connection may stay open.
        """
        if len(self) >= self._most:
            if not self._waiting:
                return False
            self._abort(next(iter(self._waiting)))
        self._waiting[transport] = self._clock() + self._head
        return True

    def remove(self, transport: asyncio.Transport) -> None:
        """Remove a connection that has ended."""
        self._waiting.pop(transport, None)
        self._busy.discard(transport)

    def note_request(self, transport: asyncio.Transport | None) -> None:
        """Record that a connection's request is complete and is being answered."""
        if transport is not None and self._waiting.pop(transport, None) is not None:
            self._busy.add(transport)

    def note_answer(self, transport: asyncio.Transport | None) -> None:
        """Record that a connection's answer is ready, so that the connection waits for its client again."""
        if transport is not None and transport in self._busy:
            self._busy.discard(transport)
            self._waiting[transport] = self._clock() + self._idle

    def sweep(self) -> None:
        """Close connections that have waited for too long."""
        now = self._clock()
        for transport in [each for each, until in self._waiting.items() if until <= now]:
            self._abort(transport)

    async def watch(self) -> None:
        """Close connections that have waited for too long, repeatedly, until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            self.sweep()

    def _abort(self, transport: asyncio.Transport) -> None:
        self.remove(transport)
        transport.abort()  # The connection is closed at once, because the client does not read the rest.


class Counted(asyncio.Protocol):
    """A server's protocol that counts its connections, and passes all events on to the protocol that it wraps."""

    def __init__(self, connections: Connections, inner: asyncio.Protocol) -> None:
        self._connections, self._inner = connections, inner
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept the connection, or close it at once if the server has too many."""
        stream = cast("asyncio.Transport", transport)
        if self._connections.add(stream):
            self._transport = stream
            self._inner.connection_made(stream)
        else:
            stream.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection, and pass the event to the wrapped protocol."""
        if self._transport is not None:
            self._connections.remove(self._transport)
            self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass the event ``data_received`` to the wrapped protocol."""
        if self._transport is not None:
            self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """Pass the event ``eof_received`` to the wrapped protocol."""
        return self._inner.eof_received() if self._transport is not None else None

    def pause_writing(self) -> None:
        """Pass the event ``pause_writing`` to the wrapped protocol."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Pass the event ``resume_writing`` to the wrapped protocol."""
        self._inner.resume_writing()
