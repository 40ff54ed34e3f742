"""Keeps labels that machines have in addition to those of their nodes, and finds which of these labels have changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping


class AddedLabels:
    """The labels of all known nodes, and the labels that other objects, such as HyperNodes, add to each node."""

    def __init__(self) -> None:
        self._nodes: dict[str, Mapping[str, str]] = {}
        self._labels: dict[str, dict[str, str]] = {}
        self._todo: set[str] = set()

    def note_node(self, name: str, labels: Mapping[str, str]) -> None:
        """Add or update a node and its labels."""
        if self._nodes.get(name) != labels:
            self._nodes[name] = labels
            self._todo.add(name)

    def forget_node(self, name: str) -> None:
        """Remove a node; an unknown node is ignored."""
        self._nodes.pop(name, None)
        self._labels.pop(name, None)
        self._todo.discard(name)

    def _take_changed(
        self, make: Callable[[str, Mapping[str, str]], dict[str, str]]
    ) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yield the nodes whose added labels have changed, with these; ``make`` returns a node's added labels."""
        todo, self._todo = self._todo, set()
        for name in sorted(todo):
            labels = make(name, self._nodes[name])
            if labels != self._labels.get(name, {}):
                self._labels[name] = labels
                yield name, labels
