"""How much is done at a time."""

from __future__ import annotations

from dataclasses import dataclass

RETRY_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Limits:
    """``clients``: streams of events; ``requests``: others under way.

    ``patience``: seconds for a slow client to take what it is sent.
    """

    clients: int = 64
    requests: int = 64
    patience: float = 10.0

    @property
    def connections(self) -> int:
        """Connections at a time; a browser keeps six, most of which say nothing."""
        return 8 * (self.clients + self.requests)


class Gate:
    """Lets so many in at a time."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.inside = 0

    def enter(self) -> bool:
        """Come in, if there is room."""
        if self.inside >= self._most:
            return False
        self.inside += 1
        return True

    def leave(self) -> None:
        """Make room."""
        self.inside -= 1
