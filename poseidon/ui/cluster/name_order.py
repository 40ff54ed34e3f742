"""Keeps pods in the order of their names while they come and go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poseidon.ui.cluster.records import PodEntry

_MOST_DEAD = 0.2


class NameOrder:
    """Names of pods with uids, sorted when somebody asks; sorting is quick if most names are sorted already."""

    def __init__(self) -> None:
        self._order: list[tuple[str, str]] = []
        self._new: list[tuple[str, str]] = []
        self._dead: set[str] = set()

    def add(self, name: str, uid: str) -> None:
        """Add the name of a pod, which may have been removed before."""
        if uid in self._dead:
            self._dead.discard(uid)  # The pod's entry is still in the list.
        else:
            self._new.append((name, uid))

    def remove(self, uid: str) -> None:
        """Remove a pod from the order."""
        self._dead.add(uid)

    def records(self, known: Mapping[str, PodEntry]) -> list[PodEntry]:
        """Return the records of all pods in the order of their names; ``known`` has the records by uid."""
        if self._new:
            self._order += sorted(self._new)
            self._order.sort()
            self._new.clear()
        if len(self._dead) > _MOST_DEAD * len(self._order):
            self._order = [each for each in self._order if each[1] not in self._dead]
            self._dead.clear()
        if self._dead:
            return [known[uid] for _, uid in self._order if uid in known]
        return [known[uid] for _, uid in self._order]
