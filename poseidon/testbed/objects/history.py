"""Versions of objects: a bounded log of changes per collection, and a journal file with all of them.

Watches and pages of lists both read the log. A watch reads it from a revision on; a page undoes the changes after the
revision of the first page. A client that asks for more than it remembers gets ``ExpiredRevisionError``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]

_revision_of = attrgetter("revision")


class ExpiredRevisionError(Exception):
    """The log no longer reaches back to ``requested``; the oldest revision it can serve from is ``oldest``."""

    def __init__(self, requested: int, oldest: int) -> None:
        super().__init__(f"revision {requested} is older than {oldest}")
        self.requested = requested
        self.oldest = oldest


class Record(msgspec.Struct, frozen=True, gc=False):
    """One version of one object, encoded once, with the fields that selectors read."""

    key: str
    """``namespace/name``, or ``name`` if cluster-scoped."""
    namespace: str
    """Namespace, "" if cluster-scoped."""
    name: str
    """Name of the object."""
    uid: str
    """Uid of the object."""
    revision: int
    """Number of the change."""
    raw: bytes
    """JSON text in the storage version."""
    labels: dict[str, str]
    """Labels of the object."""
    fields: tuple[str, ...]
    """Values of the collection's selectable fields, in their order."""


class Change(msgspec.Struct, frozen=True, gc=False):
    """One write. For a deletion ``record`` is the last state, carrying the revision of the deletion."""

    type: ChangeType
    revision: int
    record: Record
    previous: Record | None


class History:
    """The last ``limit`` changes of one collection, addressed by a position that never repeats.

    ``floor`` is the revision at which the collection was added: there are no changes before.
    """

    def __init__(self, limit: int, floor: int) -> None:
        if limit < 1:
            raise ValueError(f"history limit: {limit} is not positive; keep at least one change")
        self._limit = limit
        self._changes: list[Change] = []
        self._dropped = 0
        self._floor = floor
        self._listeners: list[Callable[[], None]] = []

    @property
    def end(self) -> int:
        """Return the position after the newest change."""
        return self._dropped + len(self._changes)

    @property
    def oldest(self) -> int:
        """Return the oldest revision from which every later change is still known."""
        first = self._first
        return self._changes[first - 1].revision if first else self._floor

    @property
    def _first(self) -> int:
        return max(0, len(self._changes) - self._limit)

    def append(self, change: Change) -> None:
        """Add a change and wake all listeners."""
        changes = self._changes
        changes.append(change)
        # Cutting the front of a list moves the rest; doing it once per ``limit`` changes keeps appends cheap.
        if len(changes) >= 2 * self._limit:
            excess = len(changes) - self._limit
            self._floor = changes[excess - 1].revision
            self._dropped += excess
            del changes[:excess]
        self.wake()

    def forget(self, revision: int) -> None:
        """Forget all changes before a revision."""
        self._dropped += len(self._changes)
        self._changes.clear()
        self._floor = revision
        self.wake()

    def position_after(self, revision: int) -> int:
        """Return where the changes after ``revision`` begin. Raises ``ExpiredRevisionError``."""
        oldest = self.oldest
        if revision < oldest:
            raise ExpiredRevisionError(revision, oldest)
        return self._dropped + bisect_right(self._changes, revision, key=_revision_of)

    def read(self, position: int, count: int) -> list[Change]:
        """Return up to ``count`` changes from ``position``; empty at the end. Raises ``ExpiredRevisionError``."""
        start = position - self._dropped
        if start < self._first:
            raise ExpiredRevisionError(0, self.oldest)
        return self._changes[start : start + count]

    def since(self, revision: int) -> Iterator[Change]:
        """Yield all changes after ``revision``. Raises ``ExpiredRevisionError`` at once, not while iterating."""
        start = self.position_after(revision) - self._dropped
        return iter(self._changes[start:])

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` after every change; it must be quick and must not write."""
        self._listeners.append(listener)

    def unsubscribe(self, listener: Callable[[], None]) -> None:
        """Stop calling ``listener``."""
        self._listeners.remove(listener)

    def wake(self) -> None:
        """Call all listeners, as after a change."""
        for listener in self._listeners:
            listener()


class Saved(NamedTuple):
    """The content of a journal: the newest revision, and the JSON of each object by (collection, key)."""

    revision: int
    objects: dict[tuple[str, str], bytes]


class Journal:
    """Keeps all writes of a store in the file ``path``, so that a cluster can continue after its process was killed.

    One line per write: collection, key, revision and the object's JSON, separated by tabs; without JSON it is a
    deletion. Each line is passed to the operating system before the write is answered, so it survives the process, but
    not a crash of the machine. Raises ``OSError``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("ab", buffering=0)

    def append(self, collection: str, key: str, revision: int, raw: bytes) -> None:
        """Add a line with an object's new state; ``raw`` is b"" for a deletion."""
        self._file.write(b"%b\t%b\t%d\t%b\n" % (collection.encode(), key.encode(), revision, raw))

    def read(self) -> Saved:
        """Return the content so far; a last line that is cut off is ignored, as its write was never answered."""
        revision, objects = 0, {}
        with self._path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                collection, key, number, raw = line[:-1].split(b"\t", 3)
                revision = max(revision, int(number))
                where = collection.decode(), key.decode()
                if raw:
                    objects[where] = raw
                else:
                    objects.pop(where, None)
        return Saved(revision, objects)
