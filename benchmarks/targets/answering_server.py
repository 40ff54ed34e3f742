"""A server that answers every request with 201 and minimal work, so that only its client is measured.

Run as a process of its own. It says "listening on URL".
"""

from __future__ import annotations

import asyncio
import re
import ssl
import sys
from pathlib import Path

import click

_BODY = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}'
_ANSWER = (b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b") % (
    len(_BODY),
    _BODY,
)
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class _Answering(asyncio.Protocol):
    def __init__(self) -> None:
        self._unread = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # transports of streams can be written to

    def data_received(self, data: bytes) -> None:
        self._unread += data
        while True:
            end = self._unread.find(b"\r\n\r\n")
            length = _LENGTH.search(self._unread, 0, end + 2) if end >= 0 else None
            whole = end + 4 + (int(length[1]) if length else 0)
            if end < 0 or len(self._unread) < whole:
                return
            self._unread = self._unread[whole:]
            assert self._transport is not None
            self._transport.write(_ANSWER)


@click.command()
@click.option("--tls-cert", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--tls-key", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(tls_cert: Path | None, tls_key: Path | None) -> None:
    """Answer until SIGTERM."""
    asyncio.run(_serve(tls_cert, tls_key))


async def _serve(certificate: Path | None, key: Path | None) -> None:
    tls = None
    if certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
    server = await asyncio.get_running_loop().create_server(_Answering, "127.0.0.1", 0, ssl=tls, backlog=1024)
    scheme = "https" if tls else "http"
    sys.stdout.write(f"listening on {scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    main()
