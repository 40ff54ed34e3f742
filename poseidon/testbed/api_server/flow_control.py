"""Limits writes: the server carries them out one after another, with delays, and accepts only some at a time.

A real API server spends time on admission, storage and watches; the simulated one answers from memory. The limits
show how a client behaves with a server that is slower than the client. Each write waits in a single queue with a
fixed service time, and then for a delay in which the server does other work. If the queue is full, the answer is that
of API priority and fairness: status 429, try again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from poseidon.testbed.objects import errors

RETRY_AFTER_SECONDS = 1
"""Seconds in the Retry-After header of a refused request, as a real server gives them."""


@dataclass(frozen=True, slots=True)
class WriteLimits:
    """Limits on writes, each 0 for no limit.

    ``rate`` is in writes per second. ``latency`` is in additional seconds for each write. ``in_flight`` is the most
    writes at a time; any more writes get status 429.
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
    """Delays and refuses writes according to ``limits``.

    ``clock`` is monotonic, and ``sleep`` waits; both use the same time.
    """

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
        """Wait until a write may happen, within a context in which the caller carries it out.

        Raises ``ApiError`` 429 at once if the queue is full.
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
        """Take the next position in the queue; return the seconds until the write is carried out."""
        if not self._limits.rate:
            return 0.0
        now = self._clock()
        # Idle time does not make later writes faster, because a server cannot work ahead.
        self._free_at = max(self._free_at, now) + 1.0 / self._limits.rate
        return self._free_at - now
