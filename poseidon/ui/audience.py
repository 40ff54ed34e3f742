"""Notes whether anybody looks at the page, because the dashboard asks other programs only then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

PATIENCE = 30.0
"""Seconds after the last request for which somebody is taken to look still."""


class Audience:
    """``clock`` is monotonic."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._asked_at: dict[str, float] = {}
        self._came = asyncio.Event()
        self.streams = 0

    def note_request(self, subject: str = "") -> None:
        """Note a request about a subject."""
        self._asked_at[""] = self._asked_at[subject] = self._clock()
        self._came.set()

    def looks(self, subject: str = "") -> bool:
        """Return whether somebody has looked at a subject, or at anything, lately; an open stream counts as
        anything.
        """
        if not subject and self.streams:
            return True
        at = self._asked_at.get(subject)
        return at is not None and self._clock() - at <= PATIENCE

    async def wait(self) -> None:
        """Wait until somebody looks."""
        while not self.looks():
            self._came.clear()
            await self._came.wait()
