"""Streams events that say which subjects have changed; a slow client gets only the newest state, or is dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec
from aiohttp import web

from poseidon.ui import intervals
from poseidon.ui.server.answers import error_response
from poseidon.ui.server.limits import RETRY_SECONDS, Gate, Limits

if TYPE_CHECKING:
    from poseidon.ui.audience import Audience
    from poseidon.ui.versions import Versions

_BUFFER = 4096
"""The most bytes that may wait for a slow client."""


class Events:
    """The open streams of events to browsers: each sends the version numbers of all subjects after a change."""

    def __init__(self, versions: Versions, audience: Audience, limits: Limits) -> None:
        self._versions = versions
        self._audience = audience
        self._limits = limits
        self._gate = Gate(limits.clients)
        self._wakers: set[asyncio.Event] = set()
        self._closed = asyncio.Event()
        versions.listen(self._wake)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer with a stream of events, until the client is gone or too slow."""
        if not self._gate.enter():
            return error_response(
                503, "too many open pages get updates already", {"Retry-After": str(RETRY_SECONDS)}
            )
        self._audience.streams += 1
        try:
            headers = {
                "Content-Type": "text/event-stream",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",
            }
            response = web.StreamResponse(headers=headers)
            await response.prepare(request)
            if request.transport is not None:
                request.transport.set_write_buffer_limits(high=_BUFFER)
            if not await self.follow(response.write) and request.transport is not None:
                request.transport.abort()
            return response
        finally:
            self._audience.streams -= 1
            self._gate.leave()

    async def follow(self, write: Callable[[bytes], Awaitable[None]]) -> bool:
        """Send changes to a client until all streams are closed; return False if the client is too slow."""
        woken = asyncio.Event()
        woken.set()
        self._wakers.add(woken)
        try:
            while not self._closed.is_set():
                try:
                    async with asyncio.timeout(intervals.COMMENT_SECONDS):
                        await woken.wait()
                    woken.clear()
                    content = b"event: changed\ndata: %b\n\n" % msgspec.json.encode(self._versions.vector())
                except TimeoutError:
                    content = b": still here\n\n"
                if self._closed.is_set():
                    break
                try:
                    async with asyncio.timeout(self._limits.patience):
                        await write(content)
                except TimeoutError:
                    return False
        except ConnectionError:
            pass  # The client has closed the connection.
        finally:
            self._wakers.discard(woken)
        return True

    def close(self) -> None:
        """End the streams of all clients."""
        self._closed.set()
        self._wake()

    def _wake(self) -> None:
        for each in self._wakers:
            each.set()
