"""Connections to the page's port that say nothing keep nobody out, and those that are in use are left alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from poseidon.ui.audience import Audience
from poseidon.ui.server.access import Access
from poseidon.ui.server.application import Server, serve
from poseidon.ui.server.limits import Limits
from tests.poseidon.ui.objects import Wall
from tests.poseidon.ui.served import FakeSource
from tests.support.waiting import until

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
WITHIN = 20


class Port:
    """A server that listens, with a clock that is set, and connections to it."""

    def __init__(self, limits: Limits) -> None:
        self.now = 0.0
        self.source = FakeSource()
        audience = Audience(lambda: 0.0)
        self.server = Server(
            self.source, Access(), audience, wall=Wall(), limits=limits, clock=lambda: self.now
        )
        self.address = ("127.0.0.1", 0)
        self.made: list[asyncio.StreamWriter] = []

    async def connect(self, *said: bytes) -> asyncio.StreamReader:
        """Open a connection, and say something on it."""
        known = len(self.server.connections)
        reader, writer = await asyncio.open_connection(*self.address)
        self.made.append(writer)
        writer.writelines(said)
        most = self.server.limits.connections
        await until(lambda: len(self.server.connections) in (known + 1, most), within=WITHIN)
        return reader


@asynccontextmanager
async def port(limits: Limits) -> AsyncIterator[Port]:
    found = Port(limits)
    listening = await serve(found.server, "127.0.0.1", 0)
    found.address = listening.address
    try:
        yield found
    finally:
        for writer in found.made:
            writer.close()
        await listening.close()


async def head(reader: asyncio.StreamReader) -> bytes:
    return await asyncio.wait_for(reader.readline(), WITHIN)


async def ended(reader: asyncio.StreamReader) -> bool:
    """Whether a connection has been closed without a word."""
    try:
        return await asyncio.wait_for(reader.read(), WITHIN) == b""
    except ConnectionError:
        return True


def test_there_are_few_connections():
    assert Limits().connections < 256


async def test_the_one_that_says_nothing_longest_makes_room_for_a_probe():
    async with port(Limits(clients=1, requests=1)) as found:
        most = found.server.limits.connections
        silent = [await found.connect() for _ in range(most)]
        for _ in range(3):
            assert (await head(await found.connect(HEALTH))).startswith(b"HTTP/1.1 200")
        assert len(found.server.connections) == most
        for each in silent[:3]:
            assert await ended(each)


async def test_silence_and_halves_of_requests_end_in_time():
    async with port(Limits(head=10.0, idle=30.0)) as found:
        silent, half = await found.connect(), await found.connect(b"GET / HTTP/1.1\r\nHost: lo")
        asked = await found.connect(HEALTH)
        await head(asked)
        found.now = 10.0
        found.server.connections.sweep()
        assert await ended(silent)
        assert await ended(half)
        assert len(found.server.connections) == 1  # it may ask again for half a minute
        found.made[-1].write(HEALTH)
        await asked.readuntil(b"ok\n")
        assert (await head(asked)).startswith(b"HTTP/1.1 200")
        found.now = 40.0
        found.server.connections.sweep()
        await until(lambda: len(found.server.connections) == 0, within=WITHIN)


async def test_what_is_under_way_is_not_cut():
    async with port(Limits(clients=1, requests=1)) as found:
        stream = await found.connect(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await stream.readuntil(b"event: changed")
        found.now = 3600.0
        found.server.connections.sweep()
        for _ in range(found.server.limits.connections + 3):
            await found.connect()
        found.source.known.versions.mark("overview")
        found.source.known.versions.publish()
        await asyncio.wait_for(stream.readuntil(b"event: changed"), WITHIN)


async def test_probes_are_answered_while_as_much_is_under_way_as_may_be(monkeypatch):
    async with port(Limits(clients=1, requests=1)) as found:
        assert found.server._gate.enter()
        refused = await found.connect(b"GET /api/v1/session HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await head(refused)).startswith(b"HTTP/1.1 503")
        assert (await head(await found.connect(HEALTH))).startswith(b"HTTP/1.1 200")


async def test_a_question_that_comes_byte_by_byte_is_given_up(monkeypatch):
    monkeypatch.setattr("poseidon.ui.server.cure_routes._BODY_SECONDS", 0.05)
    question = (
        b"POST /api/v1/cures HTTP/1.1\r\nHost: localhost\r\nX-Poseidon: 1\r\n"
        b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    async with port(Limits()) as found:
        assert (await head(await found.connect(question))).startswith(b"HTTP/1.1 408")
