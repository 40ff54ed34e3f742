"""Flow control of event batches."""

from __future__ import annotations

import asyncio


class Window:
    """Numbers the batches of a stream, from 1, and bounds how many are unacknowledged."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._sent = 0
        self._acknowledged = 0
        self._moved = asyncio.Event()

    def acknowledge(self, sequence: int) -> None:
        """The solver has applied every batch up to ``sequence``."""
        self._acknowledged = max(self._acknowledged, sequence)
        self._moved.set()

    @property
    def oldest(self) -> int | None:
        """The number of the first batch that is not acknowledged; None if all are."""
        return self._acknowledged + 1 if self._sent > self._acknowledged else None

    async def next(self) -> int:
        """Wait for room, and return the number of the next batch."""
        while self._sent - self._acknowledged >= self._size:
            self._moved.clear()
            await self._moved.wait()
        self._sent += 1
        return self._sent
