"""Flow control of event batches."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from protos.firmament.v1 import scheduler_pb2 as pb


class Window:
    """Numbers the batches of a stream, from 1, and bounds how many are unacknowledged. Those are kept."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._sent = 0
        self._acknowledged = 0
        self._batches: dict[int, pb.ClientMessage] = {}
        self._moved = asyncio.Event()
        self._heard = 0

    def acknowledge(self, sequence: int) -> None:
        """The solver has applied every batch up to ``sequence``; the same as before if it is at work on the next."""
        self._heard += 1
        for number in range(self._acknowledged + 1, min(sequence, self._sent) + 1):
            self._batches.pop(number, None)
        self._acknowledged = max(self._acknowledged, sequence)
        self._moved.set()

    @property
    def oldest(self) -> int | None:
        """The number of the first batch that is not acknowledged; None if all are."""
        return self._acknowledged + 1 if self._sent > self._acknowledged else None

    @property
    def heard(self) -> int:
        """How often the solver has acknowledged anything."""
        return self._heard

    def event(self, sequence: int, index: int) -> pb.Event | None:
        """Return an event of a batch that is not acknowledged, None if there is none such."""
        batch = self._batches.get(sequence)
        return batch.events.events[index] if batch is not None and index < len(batch.events.events) else None

    async def number(self, batch: pb.ClientMessage) -> None:
        """Wait for room, and give a batch its number."""
        while self._sent - self._acknowledged >= self._size:
            self._moved.clear()
            await self._moved.wait()
        self._sent += 1
        self._batches[self._sent] = batch
        batch.events.sequence = self._sent
