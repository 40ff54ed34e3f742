"""What waits to be sent on a session's stream: bounded, so that a slow reader slows rounds down."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

import grpc

from protos.firmament.v1 import scheduler_pb2 as pb

ROUNDS_IN_FLIGHT = 8
"""Round results that may wait for a slow driver before no further round is started."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a stream ends. ``code`` OK is the driver's own wish."""

    code: grpc.StatusCode = grpc.StatusCode.OK
    message: str = ""


class Outbox:
    """Messages to one driver. Used from the event loop's thread only.

    Acknowledgements are coalesced: only the latest number waits, so that they never pile up.
    """

    def __init__(self, capacity: int = ROUNDS_IN_FLIGHT) -> None:
        self._capacity = capacity
        self._messages: deque[pb.ServerMessage | bytes] = deque()
        self._acked: int | None = None
        self._ending: Ending | None = None
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def acknowledge(self, sequence: int) -> None:
        """Say that every batch up to ``sequence`` has been applied."""
        self._acked = sequence
        self._filled.set()

    def put(self, message: pb.ServerMessage | bytes) -> None:
        """Append a message, serialised or not; never blocks. Those who produce many wait for ``room`` first."""
        self._messages.append(message)
        if len(self._messages) >= self._capacity:
            self._room.clear()
        self._filled.set()

    async def room(self) -> None:
        """Wait until fewer messages wait than the capacity."""
        await self._room.wait()

    def close(self, ending: Ending, *, flush: bool) -> None:
        """End the stream after what waits (``flush``), or at once. The first ending counts."""
        if self._ending is not None:
            return
        self._ending = ending
        if not flush:
            self._messages.clear()
            self._acked = None
        self._filled.set()
        self._room.set()

    async def take(self) -> pb.ServerMessage | bytes | Ending:
        """Return the next message, or how the stream ends once nothing is left."""
        while True:
            if self._acked is not None:
                message = pb.ServerMessage(ack=pb.Ack(sequence=self._acked))
                self._acked = None
                return message
            if self._messages:
                if len(self._messages) <= self._capacity:
                    self._room.set()
                return self._messages.popleft()
            if self._ending is not None:
                return self._ending
            self._filled.clear()
            await self._filled.wait()
