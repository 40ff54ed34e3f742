"""Measures how long stages take. For figures only: no decision may depend on it."""

from __future__ import annotations

from collections.abc import Callable

Timer = Callable[[], float]
"""Seconds on any monotonic clock; handed in by whoever runs the core."""


def no_timer() -> float:
    """A timer that always says 0: stages then take no time."""
    return 0.0


class Stopwatch:
    """Seconds since it was made, by the timer it was given."""

    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._started = timer()

    def seconds(self) -> float:
        """Seconds so far."""
        return self._timer() - self._started
