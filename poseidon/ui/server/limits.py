"""Limits on the numbers of connections and requests at the same time."""

from __future__ import annotations

from dataclasses import dataclass

RETRY_SECONDS = 5

_SPARE = 64
"""Connections beyond those of streams and requests, so that the server always has an idle one to close."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the dashboard's server.

    ``clients`` is the number of streams of events; ``requests`` is the number of other requests that are being
    answered.

    Three limits are in seconds: ``patience`` is how long a slow client may take to receive what a stream sends;
    ``head`` is the time until a connection's first complete request; ``idle`` is the time between two requests, and
    the time to receive an answer.
    """

    clients: int = 64
    requests: int = 64
    patience: float = 10.0
    head: float = 10.0
    idle: float = 30.0

    @property
    def connections(self) -> int:
        """Largest number of connections.

        A browser keeps six connections, most of them idle. Idle ones are closed to make room for new ones.
        """
        return self.clients + self.requests + _SPARE


class Gate:
    """Limits the number of requests that are answered at the same time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.inside = 0

    def enter(self) -> bool:
        """Count a request that begins; return False if too many requests are being answered."""
        if self.inside >= self._most:
            return False
        self.inside += 1
        return True

    def leave(self) -> None:
        """Count a request that has ended."""
        self.inside -= 1
