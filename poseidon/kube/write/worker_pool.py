"""A queue of requests and the workers that carry them out, as many at a time as are allowed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
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
