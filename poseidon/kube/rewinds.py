"""Whether an API server has come back with an older state than it had: restored from a copy, say.

Versions of objects only grow. A list, or an object, of a smaller version than was known is proof that what came in
between has never happened for this server. A watch would not tell: one from a version that has yet to come is silent
until then.
"""

from __future__ import annotations

import asyncio


class Rewinds:
    """Notes that an API server has gone back, for all who follow it. Not thread-safe."""

    def __init__(self) -> None:
        self.count = 0
        """How often that has been noted."""
        self._noted = asyncio.Event()

    def note(self) -> None:
        """Say that the server has gone back: nothing of what is known needs be true."""
        self.count += 1
        self._noted.set()
        self._noted = asyncio.Event()

    async def wait_beyond(self, count: int) -> int:
        """Wait until it has been noted more often than ``count`` times; returns how often."""
        while self.count <= count:
            await self._noted.wait()
        return self.count


def is_before(version: str, known: str) -> bool:
    """Whether a resource version is older than another one; False where either is no number."""
    if not (version.isdecimal() and known.isdecimal()):
        return False
    return len(version) <= len(known) < 40 and int(version) < int(known)
