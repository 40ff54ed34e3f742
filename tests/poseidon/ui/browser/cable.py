"""A way to the server that can be cut: browsers come by it, and what is under way breaks off."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit


class Cable:
    """Leads to ``origin``; an asynchronous context. ``origin`` of its own is what browsers open."""

    def __init__(self, origin: str) -> None:
        found = urlsplit(origin)
        assert found.hostname
        assert found.port
        self._host, self._port = found.hostname, found.port
        self._flows: set[asyncio.Task[None]] = set()
        self._whole = True
        self.origin = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._come, "127.0.0.1", 0)
        self.origin = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        self._server.close()
        await self._server.wait_closed()

    def cut(self) -> None:
        """Break off all that is under way, and let nobody come by it until it is mended."""
        self._whole = False
        for each in self._flows:
            each.cancel()

    def mend(self) -> None:
        """Lead to the server again."""
        self._whole = True

    async def _come(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._lead(reader, writer))
        self._flows.add(task)
        task.add_done_callback(self._flows.discard)
        with suppress(asyncio.CancelledError):
            await task

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        onward = None
        try:
            if self._whole:
                there, onward = await asyncio.open_connection(self._host, self._port)
                await asyncio.gather(_pump(reader, onward), _pump(there, writer))
        finally:
            for each in filter(None, (writer, onward)):
                each.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while content := await reader.read(1 << 16):
            writer.write(content)
            await writer.drain()
        writer.write_eof()
