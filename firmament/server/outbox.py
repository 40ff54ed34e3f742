"""Keeps messages to be sent on a session's stream.

The number of waiting messages is limited, so that a slow reader slows rounds down instead of filling memory.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

import grpc

from protos.firmament.v1 import scheduler_pb2 as pb

ROUNDS_IN_FLIGHT = 8
"""How many round results may wait for a slow driver; at this number, no further round is started."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a stream ends. ``code``: OK if the driver has closed the stream."""

    code: grpc.StatusCode = grpc.StatusCode.OK
    message: str = ""


class DriverOutbox:
    """Messages to one driver. Only the event loop's thread may use the object.

    Only the latest acknowledgement waits, because it includes the earlier ones.
    """

    def __init__(self, capacity: int = ROUNDS_IN_FLIGHT) -> None:
        self._capacity = capacity
        self._messages: deque[pb.ServerMessage | bytes] = deque()
        self._acked: int | None = None
        self._held = 0
        self.holds = False
        """Whether acknowledgements may be held back, because a round or a call of ``release`` follows in a moment."""
        self._ending: Ending | None = None
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def acknowledge(self, sequence: int) -> None:
        """Send the acknowledgement that every batch up to ``sequence`` has been applied."""
        self._acked = sequence
        self._filled.set()

    def hold(self, sequence: int) -> None:
        """Hold an acknowledgement back until the next round or ``release``, if ``holds``; otherwise send it now.

        A message that contains only an acknowledgement costs both sides about as much as a round of one task.
        """
        if self.holds:
            self._held = sequence
        else:
            self.acknowledge(sequence)

    def take_held(self) -> int:
        """Return the number of the batch that a round's message has to acknowledge; 0 for none."""
        held, self._held = self._held, 0
        return held

    def release(self, *, for_long: bool = False) -> None:
        """Send a held acknowledgement now, because no round follows at once.

        ``for_long``: hold back no further acknowledgements.
        """
        self.holds = self.holds and not for_long
        if self._held:
            self.acknowledge(self.take_held())

    def put(self, message: pb.ServerMessage | bytes) -> None:
        """Append a message, serialised or not; this never blocks.

        To send many messages, await ``wait_for_room`` first.
        """
        self._messages.append(message)
        if len(self._messages) >= self._capacity:
            self._room.clear()
        self._filled.set()

    @property
    def has_room(self) -> bool:
        """Whether fewer messages wait than the capacity."""
        return self._room.is_set()

    async def wait_for_room(self) -> None:
        """Wait until fewer messages wait than the capacity."""
        await self._room.wait()

    def close(self, ending: Ending, *, flush: bool) -> None:
        """End the stream: after the waiting messages if ``flush``, otherwise at once.

        A second call has no effect.
        """
        if self._ending is not None:
            return
        self._ending = ending
        self.release()
        if not flush:
            self._messages.clear()
            self._acked = None
        self._filled.set()
        self._room.set()

    async def pop(self) -> pb.ServerMessage | bytes | Ending:
        """Return the next message; after the last message, how the stream ends."""
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
