"""Detects an API server that came back with an older state, for example restored from a backup.

Resource versions only grow. A list or an object with a smaller version than before proves that the server has lost
changes. A watch would not show such a return: if the watch starts from a version that does not exist yet, it is
silent.
"""

from __future__ import annotations

import asyncio


class Rewinds:
    """The number of times that an API server has returned to an older state. Not thread-safe."""

    def __init__(self) -> None:
        self.count = 0
        """The number of times that the server has returned to an older state."""
        self._noted = asyncio.Event()

    def note(self) -> None:
        """Record that the server has returned to an older state, so that all copies of its objects may be wrong."""
        self.count += 1
        self._noted.set()
        self._noted = asyncio.Event()

    async def wait_beyond(self, count: int) -> int:
        """Wait until the server has returned to an older state more than ``count`` times; return how often it has."""
        while self.count <= count:
            await self._noted.wait()
        return self.count


def is_before(version: str, known: str) -> bool:
    """Return whether a resource version is older than another; False if either is not a number."""
    if not (version.isdecimal() and known.isdecimal()):
        return False
    return len(version) <= len(known) < 40 and int(version) < int(known)
