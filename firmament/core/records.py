"""Typed records that models read, by kind and name, and how they have come and gone."""

from __future__ import annotations

from collections import Counter


class RecordTable:
    """``payloads``: by kind and name. ``came``: likewise, the place of each in the order in which ``tasks.came``
    counts, when it came last. ``changes``: by kind, how often records came and went; ``losses``: how often they went.
    """

    def __init__(self) -> None:
        self.payloads: dict[str, dict[str, bytes]] = {}
        self.came: dict[str, dict[str, int]] = {}
        self.changes: Counter[str] = Counter()
        self.losses: Counter[str] = Counter()

    def keep(self, kind: str, name: str, payload: bytes, came: int) -> None:
        """Take in a record, which has the place ``came``; it replaces the one before it."""
        self.payloads.setdefault(kind, {})[name] = payload
        self.came.setdefault(kind, {})[name] = came
        self.changes[kind] += 1

    def drop(self, kind: str, name: str) -> None:
        """Forget a record, if it is known."""
        self.payloads.get(kind, {}).pop(name, None)
        self.came.get(kind, {}).pop(name, None)
        self.changes[kind] += 1
        self.losses[kind] += 1
