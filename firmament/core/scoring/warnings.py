"""What models say about bad input, each remark once."""

from __future__ import annotations

from collections.abc import Iterable

MOST_KEPT = 10_000
"""Remarks that are remembered; of an endless stream of different ones some may come again."""


class Notes:
    """Remembers which remarks have been made."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._made: set[str] = set()
        self._most = most

    def new(self, remarks: Iterable[str]) -> tuple[str, ...]:
        """Return those that have not been made before, in order, and remember them."""
        fresh = tuple(dict.fromkeys(remark for remark in remarks if remark not in self._made))
        if len(self._made) + len(fresh) > self._most:
            self._made.clear()
        self._made.update(fresh[: self._most])
        return fresh
