"""Sets the options of the gRPC server: sizes of messages, probes of idle connections, no compression.

The bridge's options are in ``poseidon/bridge/solver_stream/stream.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

MESSAGE_BYTES = 64 * 2**20
PING_SECONDS = 5.0
"""Shortest interval, in seconds, at which clients may probe an idle connection; bridges probe every 20 s. gRPC's
default is five minutes, and gRPC disconnects a client that probes more often.
"""

_IDLE_MS = 60_000
"""Milliseconds after which a connection without a call is closed, because idle connections use memory and file
descriptors."""

_IDENTITY = 1
"""The bit for "no compression" in gRPC's set of algorithms."""


def server_options(
    message_bytes: int, ping_seconds: float, hello_seconds: float
) -> Sequence[tuple[str, int]]:
    """Return the options of the gRPC server: sizes of messages, probes of connections, time for the first message.

    ``message_bytes``: the largest accepted message. Compressed messages are refused, because a few bytes could expand
    to this size. ``ping_seconds``: the shortest interval at which clients may probe an idle connection.
    ``hello_seconds``: time for the handshake of a new connection.
    """
    return (
        ("grpc.max_receive_message_length", message_bytes),
        ("grpc.max_send_message_length", MESSAGE_BYTES),
        ("grpc.compression_enabled_algorithms_bitset", _IDENTITY),
        # If servers could share the port, a second server would take half of the sessions.
        ("grpc.so_reuseport", 0),
        ("grpc.server_handshake_timeout_ms", round(hello_seconds * 1000)),
        ("grpc.max_connection_idle_ms", _IDLE_MS),
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", round(ping_seconds * 1000)),
    )
