"""Measures round trips over TCP with a small request and a larger answer, as netperf's TCP_RR does.

The first line that a client sends is ``echo`` or JSON. After ``echo``, the server answers round trips. After JSON with
the name of a host, the server measures the latency to the server of this kind on that host. The JSON names no port, so
a client cannot make the server connect to other programs.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from poseidon.kube.client.errors import one_line

REQUEST_BYTES, ANSWER_BYTES = 32, 1024
"""The bytes of a request and of an answer, as in the netperf script of the proposal."""

MOST_SAMPLES = 100_000
_LONGEST_LINE = 1024
_PATIENCE = 10.0
_ECHO = b"echo\n"
_ANSWER = b"\0" * ANSWER_BYTES


class MeasureError(Exception):
    """The error for a failed measurement; the message says why it failed."""


@dataclass(frozen=True, slots=True)
class Latency:
    """The percentiles of round-trip times in microseconds."""

    p50: float
    p90: float
    p99: float


def percentiles(samples: Sequence[float]) -> Latency:
    """Return the percentiles of times by the nearest-rank method; raise ``ValueError`` without samples."""
    if not samples:
        raise ValueError("no samples")
    ordered = sorted(samples)
    return Latency(*(ordered[-(-rank * len(ordered) // 100) - 1] for rank in (50, 90, 99)))


async def measure(
    host: str,
    port: int,
    *,
    seconds: float,
    samples: int,
    clock: Callable[[], float],
    patience: float = _PATIENCE,
) -> Latency:
    """Return the latency to a server, from one to ``samples`` round trips within ``seconds``.

    ``clock`` is monotonic, in seconds. Raises ``MeasureError``, also if the server takes more than ``patience`` seconds
    longer than the measurement.
    """
    async with _connect(host, port, patience + seconds) as (reader, writer):
        return percentiles(await _round_trips(reader, writer, seconds, samples, clock))


async def _round_trips(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    seconds: float,
    samples: int,
    clock: Callable[[], float],
) -> list[float]:
    _send_at_once(writer)
    writer.write(_ECHO)
    request = b"\0" * REQUEST_BYTES
    # The first round trip does not count, because it fills caches of routes and neighbours and waits for the server.
    writer.write(request)
    await reader.readexactly(ANSWER_BYTES)
    found: list[float] = []
    end = clock() + seconds
    while not found or (len(found) < samples and clock() < end):
        begin = clock()
        writer.write(request)
        await reader.readexactly(ANSWER_BYTES)
        found.append((clock() - begin) * 1e6)
    return found


async def ask(host: str, port: int, target: str, *, seconds: float, samples: int) -> Latency:
    """Return the latency that the server at ``host`` measures to the server at ``target``; raise ``MeasureError``."""
    order = {"measure": target, "seconds": seconds, "samples": samples}
    async with _connect(host, port, 2 * _PATIENCE + seconds) as (reader, writer):
        writer.write(json.dumps(order).encode() + b"\n")
        answer: Any = json.loads(await reader.readline() or b"{}")
    try:
        return Latency(float(answer["p50"]), float(answer["p90"]), float(answer["p99"]))
    except (KeyError, TypeError, ValueError):
        said = answer.get("error", answer) if isinstance(answer, dict) else answer
        raise MeasureError(f"{host}:{port}: {said or 'ended without an answer'}") from None


@contextlib.asynccontextmanager
async def _connect(
    host: str, port: int, patience: float
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open a connection for at most ``patience`` seconds; raise ``MeasureError`` for any failure."""
    try:
        async with asyncio.timeout(patience):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                yield reader, writer
            finally:
                await _close(writer)
    except (OSError, EOFError, ValueError, TimeoutError) as error:
        what = "timed out" if isinstance(error, TimeoutError) else one_line(error)
        raise MeasureError(f"{host}:{port}: {what}") from error


class RoundTripServer:
    """A server, to be used with ``async with``, that answers requests at ``port``; ``clock`` is monotonic."""

    def __init__(self, host: str, port: int, *, clock: Callable[[], float], most_clients: int = 64) -> None:
        self._host = host
        self._port = port
        self._clock = clock
        self._most_clients = most_clients
        self._clients: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, self._host, self._port, limit=_LONGEST_LINE)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in [*self._clients]:
            writer.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._clients) >= self._most_clients:
            writer.close()
            return
        self._clients.add(writer)
        try:
            # Malformed requests and broken connections of a client must not end the server.
            with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError):
                line = await reader.readline()
                if line == _ECHO:
                    await self._echo(reader, writer)
                else:
                    writer.write(json.dumps(await self._measure(line)).encode() + b"\n")
                    await writer.drain()
        finally:
            self._clients.discard(writer)
            await _close(writer)

    async def _echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _send_at_once(writer)
        while True:
            await reader.readexactly(REQUEST_BYTES)
            writer.write(_ANSWER)
            await writer.drain()

    async def _measure(self, line: bytes) -> dict[str, Any]:
        try:
            order = json.loads(line)
            target, seconds, samples = str(order["measure"]), float(order["seconds"]), int(order["samples"])
        except (KeyError, TypeError, ValueError):
            return {"error": "the order is not understood"}
        if not 0 <= seconds <= 60 or not 1 <= samples <= MOST_SAMPLES:
            return {"error": f"at most 60 seconds and {MOST_SAMPLES} samples"}
        try:
            found = await measure(target, self.port, seconds=seconds, samples=samples, clock=self._clock)
        except MeasureError as error:
            return {"error": str(error)}
        return asdict(found)


def _send_at_once(writer: asyncio.StreamWriter) -> None:
    """Turn off Nagle's algorithm, which would delay small packets."""
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
