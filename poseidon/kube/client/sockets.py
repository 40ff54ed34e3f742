"""Sockets that notice when the other end has vanished without a word.

A watch may be silent for minutes, and a machine that loses its power, or a load balancer that forgets a connection,
says nothing. Without probes its client would go on listening to nobody, with an ever older picture of the cluster.
"""

from __future__ import annotations

import socket
from typing import Any, TypeAlias

AddressInfo: TypeAlias = (
    "tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[Any, ...]]"
)

SILENT_SECONDS = 15
PROBE_SECONDS = 5
PROBES = 3
"""A connection on which nothing comes is probed after ``SILENT_SECONDS`` and every ``PROBE_SECONDS`` from then on, and
is broken off after so many probes without an answer: half a minute in all."""

# Not every system can be told all of them.
_OPTIONS = (("TCP_KEEPIDLE", SILENT_SECONDS), ("TCP_KEEPINTVL", PROBE_SECONDS), ("TCP_KEEPCNT", PROBES))


def probing_socket(address: AddressInfo) -> socket.socket:
    """Return a socket for an address, as ``getaddrinfo`` gives it, that probes its silent peer."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _OPTIONS:
        if hasattr(socket, name):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
