"""Connections whose other end may vanish without a word."""

from __future__ import annotations

import asyncio
import socket
import time
from contextlib import aclosing
from pathlib import Path

import pytest
from aiohttp import web

from poseidon.kube.client.connections import PROBES, probing_socket
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from tests.poseidon.kube.scripted_api import scripted

CONNECTIONS = Path("/proc/net/tcp")
LOCAL, STATE, TIMER = 1, 3, 5
ESTABLISHED, PROBING = "01", "02"
"""Connections as Linux lists them: the columns of the local address, the state and the timer, and what these say."""


def timer_of(port: int) -> str:
    """Which timer the kernel runs for the connection from a local port; former ones from there may linger."""
    rows = [line.split() for line in CONNECTIONS.read_text().splitlines()[1:]]
    [timer] = [
        row[TIMER].split(":")[0]
        for row in rows
        if row[STATE] == ESTABLISHED and int(row[LOCAL].split(":")[1], 16) == port
    ]
    return timer


@pytest.mark.skipif(not CONNECTIONS.exists(), reason="asks the kernel, as Linux lets one")
async def test_the_peer_of_a_silent_watch_is_probed():
    ports: list[int] = []
    over = asyncio.Event()

    async def watch(request: web.Request) -> web.StreamResponse:
        ports.append(request.get_extra_info("peername")[1])
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"{}\n")
        await over.wait()
        return response

    async with (
        scripted(watch) as (_, url),
        Transport(ConnectionSettings(url), clock=time.monotonic) as client,
        aclosing(client.lines("/api/v1/pods", {"watch": "true"}, 30.0)) as stream,
    ):
        assert await anext(stream) == [b"{}"]
        assert timer_of(ports[0]) == PROBING
        over.set()


def test_probes_are_few_where_the_system_can_be_told():
    if not hasattr(socket, "TCP_KEEPCNT"):
        pytest.skip("this system cannot be told")
    with probing_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ())) as made:
        assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT) == PROBES
