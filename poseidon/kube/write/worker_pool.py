"""A queue of requests, the workers that carry them out, and how many of them the server can do with."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

W = TypeVar("W")


class WorkerPool(Generic[W]):
    """Carries out requests, oldest first, until cancelled.

    ``perform`` carries out one; what it raises ends the pool. ``limit`` tells how many may be in flight at present; it
    is asked again after each request. Ten thousand requests are ten thousand entries of a queue, and not as many tasks.
    """

    def __init__(self, perform: Callable[[W], Awaitable[None]], limit: Callable[[], int]) -> None:
        self._perform = perform
        self._limit = limit
        self._waiting: deque[W] = deque()
        self._workers = 0
        self._in_flight = 0
        self._wanted = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def unfinished(self) -> int:
        """How many requests wait or are in flight."""
        return len(self._waiting) + self._in_flight

    @property
    def waiting(self) -> int:
        """How many requests are not being carried out yet."""
        return len(self._waiting)

    def submit(self, request: W) -> None:
        """Queue a request."""
        self._waiting.append(request)
        self._idle.clear()
        self._wanted.set()

    def discard_waiting(self) -> int:
        """Drop the requests that are not being carried out yet. Returns how many."""
        count = len(self._waiting)
        self._waiting.clear()
        self._note_if_idle()
        return count

    async def wait_idle(self) -> None:
        """Wait until nothing waits or is in flight."""
        await self._idle.wait()

    async def run(self) -> None:
        """Work on the queue for ever."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._wanted.wait()
                self._wanted.clear()
                for _ in range(min(len(self._waiting), self._limit() - self._workers)):
                    self._workers += 1
                    group.create_task(self._work())

    async def _work(self) -> None:
        while self._waiting and self._workers <= self._limit():
            request = self._waiting.popleft()
            self._in_flight += 1
            await self._perform(request)
            self._in_flight -= 1
            self._note_if_idle()
            if self._waiting and self._workers < self._limit():
                self._wanted.set()
        self._workers -= 1

    def _note_if_idle(self) -> None:
        if not self._waiting and not self._in_flight:
            self._idle.set()


@dataclass(frozen=True, slots=True)
class ConcurrencyOptions:
    """A limit between ``least`` and ``most``, at first ``initial``.

    Rates are compared over periods of at least ``period_seconds``. A step up multiplies the limit by ``growth``, and
    is kept if the rate grows by at least the share ``worth``; after one that was not, ``hold_periods`` pass. A server
    that turns requests away has the limit multiplied by ``shrink``.
    """

    initial: int = 64
    least: int = 8
    most: int = 256
    period_seconds: float = 0.5
    growth: float = 1.25
    worth: float = 0.05
    shrink: float = 0.7
    hold_periods: int = 8


class AdaptiveLimit:
    """Climbs as long as more requests in flight are answered at a higher rate, and backs off when told to.

    ``clock`` is monotonic. What a server does best with is not known beforehand: over a long way hundreds in flight
    hide the latency, and a busy server gains nothing from more than a few dozen. Only periods in which work always
    waited say anything.
    """

    def __init__(self, clock: Callable[[], float], options: ConcurrencyOptions | None = None) -> None:
        self._clock = clock
        self._options = options or ConcurrencyOptions()
        self._limit = self._options.initial
        self._before: tuple[int, float] | None = None  # limit and rate that a step up is to be compared with
        self._hold = 0
        self._may_shrink_at = float("-inf")
        self._begin()

    def __call__(self) -> int:
        """Return the limit at present."""
        return self._limit

    def answered(self, waiting: int) -> None:
        """A request has been carried out, and so many others wait at that moment."""
        if not waiting:
            self._begin()
            return
        self._answers += 1
        seconds = self._clock() - self._begun
        if seconds >= self._options.period_seconds and self._answers >= 2 * self._limit:
            self._judge(self._answers / seconds)
            self._begin()

    def turned_away(self) -> None:
        """The server was too busy for a request, or in trouble; at most once per period that makes a difference."""
        now = self._clock()
        if now < self._may_shrink_at:
            return
        self._may_shrink_at = now + self._options.period_seconds
        self._limit = max(self._options.least, int(self._limit * self._options.shrink))
        self._before = None
        self._hold = self._options.hold_periods
        self._begin()

    def _begin(self) -> None:
        self._begun = self._clock()
        self._answers = 0

    def _judge(self, rate: float) -> None:
        """Go on climbing, step back, or hold, after a period with this rate."""
        before, self._before = self._before, None
        if before is not None and rate < before[1] * (1 + self._options.worth):
            self._limit = before[0]
            self._hold = self._options.hold_periods
        elif self._hold:
            self._hold -= 1
        elif self._limit < self._options.most:
            self._before = (self._limit, rate)
            self._limit = min(
                self._options.most, max(self._limit + 1, int(self._limit * self._options.growth))
            )
