"""What waits to be sent on a session's stream: bounded, so that a slow reader slows rounds down; and how a driver whose
message waits is told that the server is at work.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
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


class DriverOutbox:
    """Messages to one driver. Used from the event loop's thread only.

    Acknowledgements are coalesced: only the latest number waits, so that they never pile up.
    """

    def __init__(self, capacity: int = ROUNDS_IN_FLIGHT) -> None:
        self._capacity = capacity
        self._messages: deque[pb.ServerMessage | bytes] = deque()
        self._acked: int | None = None
        self._held = 0
        self.holds = False
        """Whether somebody will take what is held back, or release it, in a moment."""
        self._ending: Ending | None = None
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def acknowledge(self, sequence: int) -> None:
        """Say that every batch up to ``sequence`` has been applied."""
        self._acked = sequence
        self._filled.set()

    def hold(self, sequence: int) -> None:
        """Say the same with the round that follows, or when ``release`` is called, if this ``holds`` anything now.

        A message of its own costs both sides about as much as a round of one task.
        """
        if self.holds:
            self._held = sequence
        else:
            self.acknowledge(sequence)

    def take_held(self) -> int:
        """Return the number that a round is to acknowledge, 0 for none."""
        held, self._held = self._held, 0
        return held

    def release(self, *, for_long: bool = False) -> None:
        """Say now what was held back, as no round follows at once; ``for_long``: and hold nothing until told so."""
        self.holds = self.holds and not for_long
        if self._held:
            self.acknowledge(self.take_held())

    def put(self, message: pb.ServerMessage | bytes) -> None:
        """Append a message, serialised or not; never blocks. Who produces many awaits ``wait_for_room`` first."""
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
        """End the stream after what waits (``flush``), or at once. The first ending counts."""
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


EVERY = 5.0
"""Seconds after which a driver is told, and told again: far fewer than any driver waits before it gives up."""

HUNG = 600.0
"""Seconds after which what keeps a message waiting is taken to hang: from then on the driver is told nothing."""


class SignsOfLife:
    """Watches over one message at a time; used from the event loop's thread only.

    A long round must not look like a dead solver: the last acknowledgement is sent again. It promises nothing new, but
    the driver hears something.
    """

    def __init__(self, outbox: DriverOutbox, every: float = EVERY, hung: float = HUNG) -> None:
        self._outbox = outbox
        self._every = every
        self._hung = hung
        self._since: float | None = None
        self._sequence = 0

    @contextmanager
    def during(self, sequence: int) -> Iterator[None]:
        """Provide a context in which a message is handled; ``sequence`` is the last acknowledged batch."""
        self._since, self._sequence = asyncio.get_running_loop().time(), sequence
        try:
            yield
        finally:
            self._since = None

    async def run(self) -> None:
        """Tell the driver, as long as this is not cancelled."""
        while True:
            await asyncio.sleep(self._every)
            if self._since is None:
                continue
            waited = asyncio.get_running_loop().time() - self._since
            if self._every <= waited < self._hung:
                self._outbox.acknowledge(self._sequence)
