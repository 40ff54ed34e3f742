"""Records whether anybody looks at the page, because the dashboard polls other programs only while somebody does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PATIENCE = 30.0
"""Seconds for which the sender of a request counts as looking at the page."""


class Audience:
    """Knows from the requests whether people look at the page. ``clock`` returns seconds that never decrease."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._asked_at: dict[str, float] = {}
        self._came = asyncio.Event()
        self.streams = 0

    def note_request(self, subject: str = "") -> None:
        """Record a request about a subject."""
        self._asked_at[""] = self._asked_at[subject] = self._clock()
        self._came.set()

    def looks(self, subject: str = "") -> bool:
        """Return whether a page has recently asked for a subject ("": any subject), or has an open stream of events."""
        if not subject and self.streams:
            return True
        at = self._asked_at.get(subject)
        return at is not None and self._clock() - at <= PATIENCE

    async def wait(self) -> None:
        """Wait until a page is open somewhere."""
        while not self.looks():
            self._came.clear()
            await self._came.wait()
