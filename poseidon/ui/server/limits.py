"""Limits on connections and requests at the same time."""

from __future__ import annotations

from dataclasses import dataclass

RETRY_SECONDS = 5

_SPARE = 64
"""Connections beyond those of streams and requests, so that there is always an idle one that can be closed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the server. ``clients``: number of streams of events; ``requests``: number of other requests under way.

    Seconds: ``patience`` for a slow client to take what it is sent on a stream; ``head`` until a connection's first
    whole request, ``idle`` between two requests, and to take an answer.
    """

    clients: int = 64
    requests: int = 64
    patience: float = 10.0
    head: float = 10.0
    idle: float = 30.0

    @property
    def connections(self) -> int:
        """Largest number of connections. A browser keeps six, most of them idle; idle ones are closed for new ones."""
        return self.clients + self.requests + _SPARE


class Gate:
    """Limits the number of requests that are answered at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.inside = 0

    def enter(self) -> bool:
        """Count a request that begins; return False if there is no room for it."""
        if self.inside >= self._most:
            return False
        self.inside += 1
        return True

    def leave(self) -> None:
        """Count a request that has ended."""
        self.inside -= 1
