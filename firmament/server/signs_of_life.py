"""Tells a driver whose message waits that the server is at work: a long round must not look like a dead solver.

The last acknowledgement is sent again. It promises nothing new, but the driver hears something.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firmament.server.outbox import Outbox

EVERY = 5.0
"""Seconds after which a driver is told, and told again: far fewer than any driver waits before it gives up."""

HUNG = 600.0
"""Seconds after which what keeps a message waiting is taken to hang: from then on the driver is told nothing."""


class SignsOfLife:
    """Watches over one message at a time; used from the event loop's thread only."""

    def __init__(self, outbox: Outbox, every: float = EVERY, hung: float = HUNG) -> None:
        self._outbox = outbox
        self._every = every
        self._hung = hung
        self._since: float | None = None
        self._sequence = 0

    @contextmanager
    def during(self, sequence: int) -> Iterator[None]:
        """A message is at work; ``sequence``: the last batch that has been acknowledged."""
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
