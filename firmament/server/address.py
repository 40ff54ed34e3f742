"""Reads addresses as people write them (``HOST:PORT``, ``[::1]:PORT``, ``:PORT``); states the gRPC server's options."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass


class AddressError(ValueError):
    """An address cannot be used; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """A TCP address; port 0 lets the system choose."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_address(option: str, text: str, *, any_port: bool = True) -> ListenAddress:
    """Return the address that ``text``, the value of ``option``, names; ``any_port`` allows port 0.

    Raises ``AddressError``, which names the option.
    """
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not (port.isascii() and port.isdigit()) or (":" in host and not bracketed):
        raise AddressError(f"{option}: {text!r} is not an address; write HOST:PORT")
    if not (0 if any_port else 1) <= int(port) <= 65535:
        least = 0 if any_port else 1
        raise AddressError(f"{option}: {text!r}: port {port} is out of range; use {least} to 65535")
    return ListenAddress((host[1:-1] if bracketed else host) or "0.0.0.0", int(port))  # noqa: S104 - ":PORT" means that


def check_free(address: ListenAddress) -> None:
    """Raise ``AddressError`` unless the address can be listened on.

    gRPC itself would say no more than that binding failed, on several lines.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        socket.create_server((address.host, address.port), family=family).close()
    except OSError as error:
        reason = os.strerror(error.errno).lower() if error.errno and error.errno > 0 else error.strerror
        raise AddressError(f"cannot listen on {address}: {reason}; choose another address") from error


# --- Options of the gRPC server: sizes of messages, probes of idle connections, no compression.


MESSAGE_BYTES = 64 * 2**20
PING_SECONDS = 5.0
"""Shortest interval at which clients may probe an idle connection; bridges do so every 20 s. By default gRPC allows
five minutes, and disconnects a client that probes more often.
"""

_IDLE_MS = 60_000
"""Milliseconds for which a connection may have no call: idle connections use memory and file descriptors."""

_IDENTITY = 1
"""The bit for "no compression" in gRPC's set of algorithms."""


def server_options(
    message_bytes: int, ping_seconds: float, hello_seconds: float
) -> Sequence[tuple[str, int]]:
    """Return the options of the server.

    ``message_bytes``: largest accepted message; compressed messages are refused, since a few bytes may become as many
    as that. ``ping_seconds``: shortest interval at which clients may probe an idle connection. ``hello_seconds``:
    time for the handshake of a new connection.
    """
    return (
        ("grpc.max_receive_message_length", message_bytes),
        ("grpc.max_send_message_length", MESSAGE_BYTES),
        ("grpc.compression_enabled_algorithms_bitset", _IDENTITY),
        ("grpc.so_reuseport", 0),  # else a second server would share the port, and take half of the sessions
        ("grpc.server_handshake_timeout_ms", round(hello_seconds * 1000)),
        ("grpc.max_connection_idle_ms", _IDLE_MS),
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", round(ping_seconds * 1000)),
    )
