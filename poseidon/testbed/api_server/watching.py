"""Serves watches: sends the events of one collection, selected for one client, as JSON lines.

Each watch reads the collection's history at its own pace, so no events are queued for it. A watch that falls behind
the oldest change of the history ends with a 410 event. ``WatchCursor`` does no input or output; ``stream`` waits and
writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from poseidon.testbed.objects import errors
from poseidon.testbed.objects.collection import Collection
from poseidon.testbed.objects.history import Change, ExpiredRevisionError, Record
from poseidon.testbed.objects.resources import ResourceType, convert_from_storage
from poseidon.testbed.objects.selectors import Selection
from poseidon.testbed.objects.store import Store, decode, make_record

_BATCH = 500
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """The parameters of a watch; times are in seconds.

    With ``revision`` 0, the watch begins with the current objects. With ``send_initial_events``, the watch also
    begins with these objects, and a bookmark marks their end.
    """

    revision: int = 0
    bookmarks: bool = False
    send_initial_events: bool = False
    timeout: float = 1800.0
    bookmark_interval: float = 60.0


class WatchCursor:
    """The position of a watch in a collection's history; it encodes the events for the watch's client.

    ``encode`` returns the JSON text of an object if it has to differ from the stored text.
    """

    def __init__(
        self,
        store: Store,
        resource: ResourceType,
        collection: Collection,
        selection: Selection,
        *,
        encode: Callable[[Record], bytes] | None = None,
    ) -> None:
        self.collection = collection
        self._store = store
        self._resource = resource
        self._selection = selection
        self._encode = encode or (lambda record: convert_from_storage(resource, collection, record))
        self._position = collection.history.end
        self._after = 0

    def seek(self, revision: int) -> None:
        """Move to the changes after ``revision``.

        Raises ``ExpiredRevisionError`` if these changes are no longer known. A watch from a version that does not exist
        yet sends nothing until that version exists, as in kube-apiserver.
        """
        self._position = self.collection.history.position_after(revision)
        self._after = revision

    def initial(self) -> list[bytes]:
        """Return ADDED events for all selected objects, and move the cursor to the present."""
        self._position = self.collection.history.end
        found = self.collection.records(self._selection.namespace)
        return [self._event(b"ADDED", record) for record in found if self._selection.matches(record)]

    def advance(self) -> tuple[bytes, bool]:
        """Return the events of the next batch of changes, and whether more remain.

        Raises ``ExpiredRevisionError`` if the next changes are no longer known.
        """
        changes = self.collection.history.read(self._position, _BATCH)
        self._position += len(changes)
        events = [
            event
            for change in changes
            if change.revision > self._after and (event := self._translate(change))
        ]
        return b"".join(events), self._position < self.collection.history.end

    def bookmark(self, *, initial_events_end: bool = False) -> bytes:
        """Return a BOOKMARK with the store's revision, or b"" if that is older than the watch's first revision.

        The caller must have read all changes.
        """
        if self._store.revision < self._after:
            return b""
        revision = str(self._store.revision)
        metadata: dict[str, object] = {"resourceVersion": revision, "creationTimestamp": None}
        if initial_events_end:
            metadata["annotations"] = {INITIAL_EVENTS_END: "true"}
        obj = {"kind": self._resource.kind, "apiVersion": self._resource.api_version, "metadata": metadata}
        return msgspec.json.encode({"type": "BOOKMARK", "object": obj}) + b"\n"

    def _event(self, name: bytes, record: Record) -> bytes:
        return b'{"type":"%b","object":%b}\n' % (name, self._encode(record))

    def _translate(self, change: Change) -> bytes | None:
        """Return the client's event: an object that enters the selection is ADDED, one that leaves it is DELETED."""
        matches = self._selection.matches
        was_selected = change.previous is not None and matches(change.previous)
        if change.type != "DELETED" and matches(change.record):
            return self._event(b"MODIFIED" if was_selected else b"ADDED", change.record)
        if change.previous is None or not was_selected:
            return None
        if change.type == "DELETED":
            return self._event(b"DELETED", change.record)
        # The client gets the object's last state that it had selected, with the revision at which the object left the
        # selection.
        left = make_record(self.collection, decode(change.previous), change.revision)
        return self._event(b"DELETED", left)


def error_event(error: errors.ApiError) -> bytes:
    """Return the ERROR event that ends a watch."""
    return msgspec.json.encode({"type": "ERROR", "object": error.status()}) + b"\n"


async def stream(
    cursor: WatchCursor, options: WatchOptions, write: Callable[[bytes], Awaitable[None]]
) -> None:
    """Write events until the time-out, until the kind is deleted, or until the next changes are unknown (410).

    An exception of ``write`` ends the watch, too.
    """
    changed = asyncio.Event()
    history = cursor.collection.history
    history.subscribe(changed.set)
    try:
        await _begin(cursor, options, write)
        await _follow(cursor, options, write, changed)
    except ExpiredRevisionError as error:
        await write(error_event(errors.too_old(options.revision, error.oldest)))
    finally:
        history.unsubscribe(changed.set)


async def _begin(
    cursor: WatchCursor, options: WatchOptions, write: Callable[[bytes], Awaitable[None]]
) -> None:
    """Set the cursor to where the watch begins, and write the objects with which the client wants to begin."""
    if not options.send_initial_events and options.revision > 0:
        cursor.seek(options.revision)
        return
    events = cursor.initial()
    for start in range(0, len(events), _BATCH):
        await write(b"".join(events[start : start + _BATCH]))
    if options.send_initial_events and options.bookmarks:
        await _catch_up(cursor, write)
        await write(cursor.bookmark(initial_events_end=True))


async def _follow(
    cursor: WatchCursor,
    options: WatchOptions,
    write: Callable[[bytes], Awaitable[None]],
    changed: asyncio.Event,
) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + options.timeout
    next_bookmark = loop.time() + options.bookmark_interval
    while True:
        changed.clear()
        await _catch_up(cursor, write)
        if cursor.collection.closed:
            return
        now = loop.time()
        if options.bookmarks and now >= min(next_bookmark, deadline):
            await write(cursor.bookmark())
            next_bookmark = now + options.bookmark_interval
        if now >= deadline:
            return
        wake_at = min(deadline, next_bookmark) if options.bookmarks else deadline
        try:
            async with asyncio.timeout_at(wake_at):
                await changed.wait()
        except TimeoutError:
            continue


async def _catch_up(cursor: WatchCursor, write: Callable[[bytes], Awaitable[None]]) -> None:
    """Write all changes so far; after the last check, return without a pause, so that a bookmark may follow."""
    more = True
    while more:
        events, more = cursor.advance()
        if events:
            await write(events)
            more = True
