"""When a solver has asked too often for what no honest one asks for, and is to be left alone for a while."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

ROUNDS = 30
SECONDS = 60.0
"""An honest solver that has missed something backs off, twice as long each time: it comes to a few rounds a minute."""


class Distrust:
    """Counts the rounds of one stream that hold something suspicious. ``clock`` is monotonic."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rounds: deque[float] = deque()

    def suspect(self) -> bool:
        """Take note of a suspicious round; return whether that makes ``ROUNDS`` within ``SECONDS``."""
        now = self._clock()
        self._rounds.append(now)
        while self._rounds[0] <= now - SECONDS:
            self._rounds.popleft()
        return len(self._rounds) >= ROUNDS

    def forget(self) -> None:
        """Begin anew, with another stream."""
        self._rounds.clear()
