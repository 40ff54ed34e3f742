"""Common parts of the simulations: reading changes, scheduling work, and the loop that calls them."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from poseidon.testbed.objects.collection import Collection
from poseidon.testbed.objects.history import ExpiredRevisionError, Record

W = TypeVar("W")

_BATCH = 1000


class Follower:
    """Reads the changes of a collection, and remembers how far it has read; at first, it has read no change."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._position = 0

    def take_changes(self) -> tuple[bool, list[tuple[bool, Record]]]:
        """Return whether all objects were read anew, and the changes since the last call as (is gone, record).

        All objects are read anew if more has changed than the history holds. In that case, objects that are not among
        the returned ones no longer exist.
        """
        history = self._collection.history
        found: list[tuple[bool, Record]] = []
        try:
            while changes := history.read(self._position, _BATCH):
                self._position += len(changes)
                found.extend((change.type == "DELETED", change.record) for change in changes)
        except ExpiredRevisionError:
            self._position = history.end
            return True, [(False, record) for record in self._collection.records()]
        return False, found


class Agenda(Generic[W]):
    """Work that is done in the order of the times at which it is due.

    Work due at the same time is done in the order in which it was added.
    """

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, W]] = []
        self._put = 0

    @property
    def next(self) -> float | None:
        """Return when work is due next, or None for never."""
        return self._entries[0][0] if self._entries else None

    def put(self, when: float, what: W) -> None:
        """Add work that is due at ``when``."""
        self._put += 1
        heapq.heappush(self._entries, (when, self._put, what))

    def due(self, now: float) -> Iterator[tuple[float, W]]:
        """Remove and yield the work that is due at ``now``, each with its time.

        Work that is added meanwhile is included.
        """
        while self._entries and self._entries[0][0] <= now:
            when, _, what = heapq.heappop(self._entries)
            yield when, what


class Simulation(Protocol):
    """A simulation that does no input or output and reads no clock."""

    @property
    def follows(self) -> Sequence[Collection]:
        """The collections whose changes the simulation reads."""

    def advance(self, now: float) -> float | None:
        """Do the work that is due at ``now``; return when further work is due, or None if no work is left."""


async def drive(simulation: Simulation) -> None:
    """Advance a simulation when work is due by the loop's clock, or when objects have changed, until cancelled."""
    loop = asyncio.get_running_loop()
    changed = asyncio.Event()
    followed = [each.history for each in simulation.follows]
    for history in followed:
        history.subscribe(changed.set)
    try:
        while True:
            changed.clear()
            due = simulation.advance(loop.time())
            # This pause between two steps lets changes gather, and lets the server answer requests.
            await asyncio.sleep(0)
            try:
                async with asyncio.timeout_at(due):
                    await changed.wait()
            except TimeoutError:
                continue
    finally:
        for history in followed:
            history.unsubscribe(changed.set)
