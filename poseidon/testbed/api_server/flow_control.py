"""Limits writes: they are served one after another, each with a delay, and only a number of them are accepted at a
time.

A real API server spends time on admission, storage and watches; this one answers from memory. Limits show how a client
behaves with a server that is slower than itself. Each write waits in one queue with a fixed service time, then for a
delay that does not occupy the server. If the queue is full, the answer is that of API priority and fairness: 429, ask
again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from poseidon.testbed.objects import errors

RETRY_AFTER_SECONDS = 1
"""Seconds in the Retry-After header of a refused request, as from a real server."""


@dataclass(frozen=True, slots=True)
class WriteLimits:
    """Limits on writes; 0 means no limit. ``rate``: writes per second; ``latency``: additional seconds for each;
    ``in_flight``: most at a time, further ones get 429.
    """

    rate: float = 0.0
    latency: float = 0.0
    in_flight: int = 0

    def __post_init__(self) -> None:
        for name in ("rate", "latency", "in_flight"):
            value = getattr(self, name)
            if value < 0:
                raise ValueError(
                    f"simulated cluster: writes: {name}: {value} is negative; use 0 for no limit"
                )

    @property
    def any(self) -> bool:
        """Whether writes are limited at all."""
        return bool(self.rate or self.latency or self.in_flight)


class FlowControl:
    """Delays and refuses writes by ``limits``. ``clock`` is monotonic, ``sleep`` waits; both use the same time."""

    def __init__(
        self,
        limits: WriteLimits,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._sleep = sleep
        self._in_flight = 0
        self._free_at = float("-inf")

    @asynccontextmanager
    async def write(self) -> AsyncIterator[None]:
        """Wait for this write's turn; the write happens in the context. Raises ``ApiError`` 429 at once if the queue
        is full.
        """
        limits = self._limits
        if limits.in_flight and self._in_flight >= limits.in_flight:
            message = "Too many requests, please try again later."
            details = {"retryAfterSeconds": RETRY_AFTER_SECONDS}
            raise errors.ApiError(429, "TooManyRequests", message, details)
        self._in_flight += 1
        try:
            wait = self._take_turn() + limits.latency
            if wait > 0:
                await self._sleep(wait)
            yield
        finally:
            self._in_flight -= 1

    def _take_turn(self) -> float:
        """Take the next place in the queue; return the seconds until this write is served."""
        if not self._limits.rate:
            return 0.0
        now = self._clock()
        # Idle time does not count for later writes: a server cannot work ahead.
        self._free_at = max(self._free_at, now) + 1.0 / self._limits.rate
        return self._free_at - now
