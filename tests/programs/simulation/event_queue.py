"""Simulated time: one queue of events, gone through in one thread, and the story of what has happened."""

from __future__ import annotations

import heapq
import zlib
from collections import deque
from collections.abc import Callable
from random import Random

EPOCH = 1_767_225_600.0
"""Where wall clocks begin: 2026-01-01 in seconds since 1970."""


class EventQueue:
    """Events at simulated times, those of one time in the order in which they were put in.

    ``steps`` counts those that are something of their own: a message that arrives, the work of a thread, what somebody
    does. Turns and timers of event loops are not.

    ``now`` is monotonic and only moves with events. ``wall`` is what clocks on walls show; they may jump. All that is
    left to chance is drawn from ``random``. ``story`` keeps the latest lines of what happened, ``digest`` all of them.
    """

    def __init__(self, random: Random, remembered: int = 4000) -> None:
        self.random = random
        self.now = 0.0
        self.wall_offset = EPOCH
        self.steps = 0
        self.story: deque[str] = deque(maxlen=remembered)
        self.digest = 0
        self._events: list[tuple[float, int, bool, Callable[[], None]]] = []
        self._serial = 0

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return self.now

    def wall(self) -> float:
        """Seconds since 1970 as clocks show them at present."""
        return self.now + self.wall_offset

    def at(self, when: float, event: Callable[[], None], *, counts: bool = True) -> None:
        """Have ``event`` happen at a time, or at once if that has passed."""
        self._serial += 1
        heapq.heappush(self._events, (max(when, self.now), self._serial, counts, event))

    def after(self, seconds: float, event: Callable[[], None]) -> None:
        """Have ``event`` happen in ``seconds``."""
        self.at(self.now + seconds, event)

    def step(self) -> bool:
        """Let the next event happen; False if there is none."""
        if not self._events:
            return False
        when, _, counts, event = heapq.heappop(self._events)
        self.now = max(self.now, when)
        self.steps += counts
        event()
        return True

    def run_until(self, when: float) -> None:
        """Let everything happen that is due by a time. May be called by an event, whose own time that is."""
        while self._events and self._events[0][0] <= when:
            self.step()
        self.now = max(self.now, when)

    def tell(self, line: str) -> None:
        """Add a line to the story."""
        text = f"{self.now:10.4f} {line}"
        self.digest = zlib.crc32(text.encode(), self.digest)
        self.story.append(text)
