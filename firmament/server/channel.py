"""What the gRPC server allows its clients, as options of gRPC's: sizes, probes of idle connections, no compression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

MESSAGE_BYTES = 64 * 2**20
PING_SECONDS = 5.0
"""Clients may probe an idle connection this often; bridges do so every 20 s. gRPC's own least is five minutes, and
whoever probes more often is disconnected."""

_IDENTITY = 1
"""The one bit of gRPC's set of algorithms that stands for no compression."""

Options: TypeAlias = Sequence[tuple[str, int]]


def server_options(message_bytes: int = MESSAGE_BYTES, ping_seconds: float = PING_SECONDS) -> Options:
    """Return the options of the server.

    ``message_bytes``: the largest message that is taken; one that is compressed is refused, since a few bytes of it may
    become as many as that. ``ping_seconds``: how often clients may probe a connection on which nothing happens.
    """
    return (
        ("grpc.max_receive_message_length", message_bytes),
        ("grpc.max_send_message_length", MESSAGE_BYTES),
        ("grpc.compression_enabled_algorithms_bitset", _IDENTITY),
        ("grpc.so_reuseport", 0),  # else a second server would share the port, and take half of the sessions
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", round(ping_seconds * 1000)),
    )
