"""The objects of one kind: their current records in key order, and views of past states for consistent paging."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from poseidon.testbed.objects.history import Change, History, Record

FieldReader = Callable[[dict[str, Any]], str]


@dataclass(frozen=True, slots=True)
class CollectionSpec:
    """Properties of a kind that the store needs. ``name`` is ``plural`` or ``plural.group``.

    ``api_version`` is the version in which objects are stored; ``readers`` are functions that read the fields that
    selectors may name.
    """

    name: str
    kind: str
    api_version: str
    namespaced: bool
    readers: dict[str, FieldReader] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class View:
    """A collection as it was at ``revision``: its keys in ascending order, and access to the record of each key."""

    revision: int
    keys: list[str]
    get: Callable[[str], Record | None]

    def bounds(self, namespace: str, after: str = "") -> tuple[int, int]:
        """Return the index range of the keys of ``namespace`` ("" for all) that are greater than the key ``after``."""
        low, high = 0, len(self.keys)
        if namespace:
            low = bisect_left(self.keys, namespace + "/")
            high = bisect_left(self.keys, namespace + "0")  # In ASCII, "0" follows "/".
        if after:
            low = max(low, bisect_left(self.keys, after + "\0"))
        return low, high


class Collection:
    """The current records of one kind, and the history of their changes. Only the store writes to a collection."""

    def __init__(self, spec: CollectionSpec, history: History) -> None:
        self.spec = spec
        self.history = history
        self.field_names = tuple(spec.readers)
        self.header = f'{{"kind":"{spec.kind}","apiVersion":"{spec.api_version}"'.encode()
        self.closed = False
        self._records: dict[str, Record] = {}
        self._ordered: list[str] = []
        self._order_is_stale = False

    def __len__(self) -> int:
        return len(self._records)

    def key(self, namespace: str, name: str) -> str:
        """Return the key under which an object is stored."""
        return f"{namespace}/{name}" if self.spec.namespaced else name

    def get(self, key: str) -> Record | None:
        """Return the current record under ``key``, or None if there is none."""
        return self._records.get(key)

    def records(self, namespace: str = "") -> list[Record]:
        """Return the current records in key order, of one namespace or ("") of all."""
        view = self.view(0)
        low, high = view.bounds(namespace)
        return [self._records[key] for key in view.keys[low:high]]

    def apply(self, change: Change) -> None:
        """Make ``change`` current and add it to the history."""
        key = change.record.key
        if change.type == "DELETED":
            del self._records[key]
            self._order_is_stale = True
        else:
            self._records[key] = change.record
            if change.type == "ADDED":
                if not self._order_is_stale and (not self._ordered or key > self._ordered[-1]):
                    self._ordered.append(key)
                else:
                    self._order_is_stale = True
        self.history.append(change)

    def close(self) -> None:
        """Mark the kind as deleted (its definition was deleted), and wake its watchers so that they end."""
        self.closed = True
        self.history.wake()

    def view(self, revision: int) -> View:
        """Return the current state as a view at ``revision``, which is the store's newest."""
        return View(revision, self._keys(), self._records.get)

    def view_at(self, revision: int) -> View:
        """Return the state at ``revision``, computed by undoing all later changes.

        Raises ``ExpiredRevisionError`` if later changes are no longer known.

        The time is proportional to the number of later changes, plus a copy of the keys if objects were added or
        deleted.
        """
        before: dict[str, Record | None] = {}
        for change in self.history.since(revision):
            before.setdefault(change.record.key, change.previous)
        if not before:
            return self.view(revision)
        keys = self._keys()
        records = self._records
        gone = [key for key, record in before.items() if record is not None and key not in records]
        added = {key for key, record in before.items() if record is None}
        if gone or added:
            keys = sorted([*(key for key in keys if key not in added), *gone])

        def get(key: str) -> Record | None:
            return before[key] if key in before else records.get(key)

        return View(revision, keys, get)

    def _keys(self) -> list[str]:
        if self._order_is_stale:
            # Sorting makes a new list, because views that are still being read page by page use the old list.
            self._ordered = sorted(self._records)
            self._order_is_stale = False
        return self._ordered
