"""Measures how long stages take. For figures only: no decision may depend on it."""

from __future__ import annotations

import time


class Stopwatch:
    """Seconds since it was made, on the process's monotonic high-resolution clock."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    def seconds(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self._started
