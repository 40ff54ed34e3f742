"""Sends signs of life to a client during long work, so that it does not take the solver for dead."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from firmament.server.outbox import DriverOutbox

EVERY = 5.0
"""Seconds between signs of life to a driver: far fewer than any driver waits before it gives up."""

HUNG = 600.0
"""Seconds after which the handling of a message counts as hung, so that no more signs of life are sent."""


class SignsOfLife:
    """Repeats the last acknowledgement while a message is being handled.

    Only the event loop's thread may use the object. Without signs of life, the driver would believe that the solver
    is dead while a message takes long.
    """

    def __init__(self, outbox: DriverOutbox, every: float = EVERY, hung: float = HUNG) -> None:
        self._outbox = outbox
        self._every = every
        self._hung = hung
        self._since: float | None = None
        self._sequence = 0

    @contextmanager
    def repeat_during(self, sequence: int) -> Iterator[None]:
        """Return the context in which a message is handled; ``sequence``: the last acknowledged batch."""
        self._since, self._sequence = asyncio.get_running_loop().time(), sequence
        try:
            yield
        finally:
            self._since = None

    async def run(self) -> None:
        """Send signs of life until cancelled."""
        while True:
            await asyncio.sleep(self._every)
            if self._since is None:
                continue
            waited = asyncio.get_running_loop().time() - self._since
            if self._every <= waited < self._hung:
                self._outbox.acknowledge(self._sequence)
