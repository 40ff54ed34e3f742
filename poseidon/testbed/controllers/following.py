"""Reading a collection's changes bit by bit, for simulations that react to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.testbed.objects.history import ExpiredRevisionError

if TYPE_CHECKING:
    from poseidon.testbed.objects.collection import Collection
    from poseidon.testbed.objects.history import Record
    from poseidon.testbed.objects.store import Store

_BATCH = 1000


class Follower:
    """Remembers how far a collection has been read; a new one has read nothing."""

    def __init__(self, store: Store, collection: Collection) -> None:
        self._store = store
        self._collection = collection
        self._position = 0

    def take(self) -> tuple[bool, list[tuple[bool, Record]]]:
        """Return what has changed since the last call: whether all is told anew, and (is gone, record) in order.

        All is told anew when more changed than is remembered; what is not among it is gone.
        """
        history = self._collection.history
        found: list[tuple[bool, Record]] = []
        try:
            while changes := history.read(self._position, _BATCH):
                self._position += len(changes)
                found.extend((change.type == "DELETED", change.record) for change in changes)
        except ExpiredRevisionError:
            self._position = history.end
            view = self._collection.view(self._store.revision)
            records = (view.get(key) for key in view.keys)
            return True, [(False, record) for record in records if record is not None]
        return False, found
