"""Measures the cost of a small write for its client, over HTTP and TLS, with the connections for writes and with
aiohttp.
"""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.environment import environment
from benchmarks.targets.base import TargetError
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.write.binder import BindRequest, binding_body
from poseidon.testbed.harness.child import Child

Post = Callable[[str, bytes], Awaitable[object]]

_GRACE_SECONDS = 5.0


async def measure_requests(count: int, in_flight: int, runs: int) -> dict[str, Any]:
    """Return microseconds of this process's processor time per request, the minimum of ``runs``. Raises
    ``TargetError``.

    ``first`` is the first round of ``in_flight`` requests, each over a new connection.
    """
    rows: list[dict[str, Any]] = []
    folder = Path(tempfile.mkdtemp(prefix="poseidon-bench-"))
    try:
        certificate, key = _certificate(folder)
        for scheme, arguments in (
            ("http", []),
            ("https", ["--tls-cert", str(certificate), "--tls-key", str(key)]),
        ):
            server = Child(
                "the server", "benchmarks.targets.answering_server", arguments, folder / f"{scheme}.log"
            )
            await server.start()
            try:
                url = await server.read_address()
                tls = ssl.create_default_context(cafile=str(certificate)) if scheme == "https" else None
                for client, opened in (("connections for writes", _own), ("aiohttp", _full)):
                    figures = await _measure(opened, url, tls, count, in_flight, runs)
                    rows.append({"scheme": scheme, "client": client, **figures})
            finally:
                await server.stop(_GRACE_SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {
        "kind": "requests",
        "environment": environment(),
        "count": count,
        "inFlight": in_flight,
        "rows": rows,
    }


async def _measure(
    opened: Callable[..., Any], url: str, tls: ssl.SSLContext | None, count: int, in_flight: int, runs: int
) -> dict[str, float]:
    async with opened(url, tls) as post:
        first = await _time_bindings(post, in_flight, in_flight)
        others = [await _time_bindings(post, count, in_flight) for _ in range(runs)]
    return {
        "firstMicroseconds": round(first / in_flight * 1e6, 1),
        "microseconds": round(min(others) / count * 1e6, 1),
    }


async def _time_bindings(post: Post, count: int, in_flight: int) -> float:
    """Return the processor seconds that ``count`` bindings take."""
    indices = iter(range(count))

    async def work() -> None:
        for index in indices:
            request = BindRequest(
                f"00000000-0000-4000-8000-{index:012d}", "default", f"pod-{index:06d}", "node-00000"
            )
            await post(f"/api/v1/namespaces/default/pods/{request.name}/binding", binding_body(request))

    begun = time.process_time()
    await asyncio.gather(*(work() for _ in range(in_flight)))
    return time.process_time() - begun


@asynccontextmanager
async def _own(url: str, tls: ssl.SSLContext | None) -> AsyncIterator[Post]:
    async with Transport(ConnectionSettings(url, tls=tls), clock=time.monotonic) as transport:
        yield transport.post


@asynccontextmanager
async def _full(url: str, tls: ssl.SSLContext | None) -> AsyncIterator[Post]:
    connector = aiohttp.TCPConnector(limit=0, ssl=tls if tls is not None else True)
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def post(path: str, body: bytes) -> None:
            async with session.post(url + path, data=body) as response:
                await response.read()

        yield post


def _certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for loopback. Raises ``TargetError`` if openssl is missing."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise TargetError("openssl: no such program; install it, it makes the server's certificate")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    named = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([openssl, "req", "-x509", *new, *named, *files], check=True, capture_output=True)
    return certificate, key
