"""Keeps versions of objects: for each collection a bounded log of changes, and a journal file with all changes.

Both watches and pages of lists read the log. A watch reads the log from a revision on. A page undoes the changes
after the revision of the first page. If a client asks for changes that the log no longer has,
``ExpiredRevisionError`` is raised.
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
    """Raised if the log no longer has the changes since ``requested``; the oldest possible revision is ``oldest``."""

    def __init__(self, requested: int, oldest: int) -> None:
        super().__init__(f"revision {requested} is older than {oldest}")
        self.requested = requested
        self.oldest = oldest


class Record(msgspec.Struct, frozen=True, gc=False):
    """One version of one object, encoded once, with the fields that selectors read."""

    key: str
    """Key of the object: ``namespace/name``, or ``name`` if it is in no namespace."""
    namespace: str
    """Namespace of the object, "" if it is in none."""
    name: str
    """Name of the object."""
    uid: str
    """Uid of the object."""
    revision: int
    """Revision of the write that made this version."""
    raw: bytes
    """JSON text of the object in the stored API version."""
    labels: dict[str, str]
    """Labels of the object."""
    fields: tuple[str, ...]
    """Values of the fields that selectors may name, in the collection's order."""


class Change(msgspec.Struct, frozen=True, gc=False):
    """One write of an object.

    For a deletion, ``record`` is the object's last state with the revision of the deletion.
    """

    type: ChangeType
    revision: int
    record: Record
    previous: Record | None


class History:
    """The last ``limit`` changes of one collection, each at a position that is never used again.

    ``floor`` is the revision at which the collection was added; there are no earlier changes.
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
        """Return the oldest revision after which every change is still known."""
        first = self._first
        return self._changes[first - 1].revision if first else self._floor

    @property
    def _first(self) -> int:
        return max(0, len(self._changes) - self._limit)

    def append(self, change: Change) -> None:
        """Add a change, and call all listeners."""
        changes = self._changes
        changes.append(change)
        # Cutting the front of a list moves all later entries; this happens once per ``limit`` changes, so appending
        # stays cheap.
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
        """Return the position of the first change after ``revision``.

        Raises ``ExpiredRevisionError`` if that change is no longer known.
        """
        oldest = self.oldest
        if revision < oldest:
            raise ExpiredRevisionError(revision, oldest)
        return self._dropped + bisect_right(self._changes, revision, key=_revision_of)

    def read(self, position: int, count: int) -> list[Change]:
        """Return up to ``count`` changes from ``position`` on, none at the end of the log.

        Raises ``ExpiredRevisionError`` if the changes are no longer known.
        """
        start = position - self._dropped
        if start < self._first:
            raise ExpiredRevisionError(0, self.oldest)
        return self._changes[start : start + count]

    def since(self, revision: int) -> Iterator[Change]:
        """Yield all changes after ``revision``.

        Raises ``ExpiredRevisionError`` at once, and not only while iterating.
        """
        start = self.position_after(revision) - self._dropped
        return iter(self._changes[start:])

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` after every change; it must be fast and must not write."""
        self._listeners.append(listener)

    def unsubscribe(self, listener: Callable[[], None]) -> None:
        """Stop calling ``listener``."""
        self._listeners.remove(listener)

    def wake(self) -> None:
        """Call all listeners, as if something had changed."""
        for listener in self._listeners:
            listener()


class Saved(NamedTuple):
    """The content of a journal: the newest revision, and the JSON of each object by (collection, key)."""

    revision: int
    objects: dict[tuple[str, str], bytes]


class Journal:
    """Records all writes of a store in the file ``path``, so that a cluster can continue after its process was killed.

    The file has one line per write: collection, key, revision and the object's JSON, separated by tabs. A line
    without JSON is a deletion. Each line is passed to the operating system before the write is answered. Each line
    therefore survives the end of the process, but not a crash of the machine. All methods may raise ``OSError``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("ab", buffering=0)

    def append(self, collection: str, key: str, revision: int, raw: bytes) -> None:
        """Add a line with an object's new state; ``raw`` is b"" for a deletion."""
        self._file.write(b"%b\t%b\t%d\t%b\n" % (collection.encode(), key.encode(), revision, raw))

    def read(self) -> Saved:
        """Return the content so far.

        An incomplete last line is ignored, because the write of that line was never answered.
        """
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
