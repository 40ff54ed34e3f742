"""Kept-open connections for small requests."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from poseidon.kube.client.connections import Address, ConnectionPool, IdleClosedError, PoolOptions
from poseidon.kube.client.replies import MalformedReplyError
from tests.support.waiting import until

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
REQUEST = b"POST / HTTP/1.1\r\n\r\n"


class Server:
    """Answers each request on a connection with the next of ``answers``, or with OK; None closes the connection."""

    def __init__(self):
        self.answers = []
        self.connections = 0
        self.requests = 0
        self.writers = []

    async def serve(self, reader, writer):
        self.connections += 1
        self.writers.append(writer)
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                self.requests += 1
                answer = self.answers.pop(0) if self.answers else OK
                if answer is None:
                    break
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(clock=lambda: 0.0, **options):
    server = Server()
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listening:
        host, port = listening.sockets[0].getsockname()
        pool = ConnectionPool(Address(host, port), clock=clock, options=PoolOptions(**options))
        try:
            yield server, pool
        finally:
            pool.close()


async def test_connections_are_used_again():
    async with serving() as (server, pool):
        for _ in range(5):
            assert (await pool.exchange(REQUEST)).body == b"ok"
        await asyncio.gather(*(pool.exchange(REQUEST) for _ in range(3)))
        await asyncio.gather(*(pool.exchange(REQUEST) for _ in range(3)))
    assert (server.connections, server.requests) == (3, 11)


async def test_a_connection_that_was_idle_for_long_is_not_used_again():
    now = [0.0]
    async with serving(lambda: now[0], idle=10.0) as (server, pool):
        await pool.exchange(REQUEST)
        now[0] = 9.0
        await pool.exchange(REQUEST)
        now[0] = 19.0
        await pool.exchange(REQUEST)
    assert server.connections == 2


async def test_a_connection_that_the_server_has_closed_is_not_used_again():
    async with serving() as (server, pool):
        await pool.exchange(REQUEST)
        server.writers[0].write(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        server.writers[0].close()
        await server.writers[0].wait_closed()
        for _ in range(3):
            await asyncio.sleep(0)
        assert (await pool.exchange(REQUEST)).body == b"ok"


async def test_a_request_is_never_sent_twice():
    async with serving() as (server, pool):
        await pool.exchange(REQUEST)
        server.answers = [None]
        with pytest.raises((MalformedReplyError, OSError)):
            await pool.exchange(REQUEST)
        assert server.requests == 2
        assert (await pool.exchange(REQUEST)).body == b"ok"


async def test_what_is_no_reply_costs_the_connection():
    async with serving() as (server, pool):
        server.answers = [b"hello\r\n\r\n"]
        with pytest.raises(MalformedReplyError, match="not a reply of an HTTP server"):
            await pool.exchange(REQUEST)
        await pool.exchange(REQUEST)
        assert server.connections == 2


async def test_a_server_that_says_nothing_times_out():
    async with serving(exchange=0.05) as (server, pool):
        server.answers = [b"HTTP/1.1 200 OK\r\n"]
        with pytest.raises(TimeoutError):
            await pool.exchange(REQUEST)
        # What is left of that reply is not taken for the next one.
        assert (await pool.exchange(REQUEST)).body == b"ok"
        assert server.connections == 2


async def test_a_cancelled_request_costs_its_connection():
    async with serving() as (server, pool):
        server.answers = [b"HTTP/1.1 200 OK\r\n"]
        request = asyncio.create_task(pool.exchange(REQUEST))
        await until(lambda: server.requests == 1)
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        assert (await pool.exchange(REQUEST)).body == b"ok"
        assert server.connections == 2


async def test_closing_ends_what_is_in_flight():
    async with serving() as (server, pool):
        server.answers = [b"HTTP/1.1 200 OK\r\n"]
        request = asyncio.create_task(pool.exchange(REQUEST))
        await until(lambda: server.requests == 1)
        pool.close()
        with pytest.raises((MalformedReplyError, OSError)):
            await request


def test_addresses_are_read_off_urls():
    plain = Address.from_url("http://api.example:8001/base", None, None)
    assert plain == Address("api.example", 8001)
    assert Address.from_url("http://[::1]", None, None) == Address("::1", 80)
    secure = Address.from_url("https://10.0.0.1", None, "kubernetes")
    assert (secure.host, secure.port, secure.server_name) == ("10.0.0.1", 443, "kubernetes")
    assert secure.tls is not None


async def test_connections_that_nobody_needs_are_closed():
    now = [0.0]
    async with serving(lambda: now[0], idle=10.0, exchange=0.05) as (server, pool):
        await asyncio.gather(*(pool.exchange(REQUEST) for _ in range(3)))
        now[0] = 9.0
        await pool.exchange(REQUEST)
        now[0] = 11.0
        await until(lambda: sum(not each.is_closing() for each in server.writers) == 1)
        now[0] = 20.0
        await until(lambda: all(each.is_closing() for each in server.writers))


async def test_a_connection_closed_as_it_is_used_again_is_told_from_other_faults():
    """The server forgets an idle connection at the very moment in which the next request leaves."""
    async with serving() as (server, pool):
        await pool.exchange(REQUEST)
        server.answers = [None]
        with pytest.raises(IdleClosedError):
            await pool.exchange(REQUEST)
        server.answers = [None]
        with pytest.raises(MalformedReplyError):
            await pool.exchange(REQUEST)  # a new connection, so that is no ordinary end
        assert (await pool.exchange(REQUEST)).body == b"ok"


async def test_a_reply_that_breaks_off_is_no_idle_connection_closed():
    async with serving() as (server, pool):
        await pool.exchange(REQUEST)
        server.answers = [OK[:-1], None]
        with pytest.raises(MalformedReplyError):
            await asyncio.gather(pool.exchange(REQUEST), end_soon(server))


async def end_soon(server):
    await until(lambda: server.requests == 2)
    server.writers[0].close()
