"""Keeps which machines reach which objects, such as volumes. Machines and objects may be added in any order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Generic, Protocol, TypeAlias, TypeVar

Pair: TypeAlias = tuple[str, str]
"""Key and value of a label."""

ANYWHERE: Pair = ("", "")


class Reachable(Protocol):
    """A group of objects that the same machines reach; groups are compared by identity.

    Only machines that have one of the labels ``pairs`` can reach the group.
    """

    pairs: tuple[Pair, ...]
    nodes: set[str]
    """Names of the machines that reach the group."""

    def admits(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether a machine of this name and these labels reaches the group."""


G = TypeVar("G", bound=Reachable)


class Reach(Generic[G]):
    """The machines that reach each group of objects, such as volumes; ``labels`` are those of each machine."""

    def __init__(self) -> None:
        self.labels: dict[str, Mapping[str, str]] = {}
        self._having: dict[str, dict[str, set[str]]] = {}
        self._by_pair: dict[Pair, dict[G, None]] = {}
        self._at: dict[str, dict[G, None]] = {}

    def list_groups(self, node: str) -> Iterable[G]:
        """Return the groups that a machine reaches."""
        return self._at.get(node, ())

    def having(self, pair: Pair) -> Collection[str]:
        """Return the names of the machines that have a label; of all machines for ``ANYWHERE``."""
        if pair == ANYWHERE:
            return self.labels
        key, value = pair
        by_value = self._having.get(key)
        if by_value is None:
            by_value = self._having[key] = {}
            for name, labels in self.labels.items():
                by_value.setdefault(labels.get(key, ""), set()).add(name)
        return by_value.get(value, ())

    def put_node(self, name: str, labels: Mapping[str, str]) -> None:
        """Add or update a machine."""
        self.remove_node(name)
        self.labels[name] = labels
        for key, by_value in self._having.items():
            by_value.setdefault(labels.get(key, ""), set()).add(name)
        for pair in (ANYWHERE, *labels.items()):
            for group in self._by_pair.get(pair, ()):
                self._let_reach(group, name)

    def remove_node(self, name: str) -> None:
        """Remove a machine that does not exist any more."""
        labels = self.labels.pop(name, None)
        if labels is None:
            return
        for key, by_value in self._having.items():
            by_value.get(labels.get(key, ""), set()).discard(name)
        for group in self._at.pop(name, ()):
            group.nodes.discard(name)

    def add(self, group: G) -> None:
        """Add a group, and find the machines that reach it."""
        for pair in group.pairs:
            self._by_pair.setdefault(pair, {})[group] = None
            for name in self.having(pair):
                self._let_reach(group, name)

    def remove(self, group: G) -> None:
        """Remove a group."""
        for pair in group.pairs:
            del self._by_pair[pair][group]
            if not self._by_pair[pair]:
                del self._by_pair[pair]
        for name in group.nodes:
            del self._at[name][group]

    def _let_reach(self, group: G, name: str) -> None:
        if group.admits(name, self.labels[name]):
            group.nodes.add(name)
            self._at.setdefault(name, {})[group] = None
