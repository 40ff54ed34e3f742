"""Which task classes a selector of tasks matches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cost_models.interface import Int64
from firmament.core.classes import ClassRow
from firmament.core.model import Requirement, TaskClass, TaskSelector


def own_selector(selector: TaskSelector, content: TaskClass) -> TaskSelector:
    """A class's selector, which without any namespace means the class's own."""
    if selector.namespaces or selector.namespace_labels is not None:
        return selector
    return replace(selector, namespaces=(content.namespace,))


class ClassSelector:
    """Matches selectors against the classes of a table.

    Classes are immutable and namespaces rarely change, so answers are kept until ``reset``, and brought up to date with
    the classes that were defined since. Classes that carry a label are found by it: a selector that asks for one value
    of a label looks at few classes, however many there are.
    """

    def __init__(self, rows: Sequence[ClassRow]) -> None:
        self._rows = rows
        self._indexed = 0
        self._by_pair: dict[tuple[str, str], list[int]] = {}
        self._labels: list[Mapping[str, str]] = []
        self._known: dict[TaskSelector, tuple[int, list[int]]] = {}
        self._namespaces: dict[str, Mapping[str, str]] = {}

    def set_namespaces(self, records: Mapping[str, bytes]) -> None:
        """Take the namespaces' labels from records ``{"labels": {...}}`` by name; forgets answers if any changed."""
        namespaces = {name: _labels_of(payload) for name, payload in records.items()}
        if namespaces != self._namespaces:
            self._namespaces = namespaces
            self._known.clear()

    def reset(self) -> None:
        """Forget all answers: rows stand for other classes now."""
        self._indexed = 0
        self._by_pair.clear()
        self._labels.clear()
        self._known.clear()

    def matching(self, selector: TaskSelector) -> Int64:
        """Rows of the classes that ``selector`` matches, ascending."""
        self._index()
        seen, found = self._known.get(selector, (0, []))
        if seen < len(self._rows):
            new = [row for row in self._candidates(selector, seen) if self._matches(selector, row)]
            found = found + new
            self._known[selector] = (len(self._rows), found)
        return np.array(found, dtype=np.int64)

    def matches(self, selector: TaskSelector, row: int) -> bool:
        """Whether ``selector`` matches the class in ``row``."""
        self._index()
        return self._matches(selector, row)

    def _index(self) -> None:
        for row in range(self._indexed, len(self._rows)):
            labels = dict(self._rows[row].content.labels)
            self._labels.append(labels)
            for pair in labels.items():
                self._by_pair.setdefault(pair, []).append(row)
        self._indexed = len(self._rows)

    def _candidates(self, selector: TaskSelector, first: int) -> Iterable[int]:
        """Rows from ``first`` on that could match, ascending."""
        if selector.nothing:
            return ()
        fewest: list[int] | None = None
        for requirement in selector.labels:
            if requirement.operator == "In":
                rows = sorted(
                    {
                        row
                        for value in requirement.values
                        for row in self._by_pair.get((requirement.key, value), ())
                    }
                )
                if fewest is None or len(rows) < len(fewest):
                    fewest = rows
        if fewest is None:
            return range(first, len(self._rows))
        return (row for row in fewest if row >= first)

    def _matches(self, selector: TaskSelector, row: int) -> bool:
        if selector.nothing or not _meets_all(selector.labels, self._labels[row]):
            return False
        namespace = self._rows[row].content.namespace
        if namespace in selector.namespaces:
            return True
        wanted = selector.namespace_labels
        return wanted is not None and _meets_all(wanted, self._namespaces.get(namespace, {}))


def _meets_all(requirements: Sequence[Requirement], labels: Mapping[str, str]) -> bool:
    return all(_meets(requirement, labels) for requirement in requirements)


def _meets(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """One condition on labels; NotIn and DoesNotExist also hold where the key is missing."""
    value = labels.get(requirement.key)
    if requirement.operator == "In":
        return value in requirement.values
    if requirement.operator == "NotIn":
        return value not in requirement.values
    return (value is not None) == (requirement.operator == "Exists")


def _labels_of(payload: bytes) -> Mapping[str, str]:
    """Labels in a namespace's record; none if it is malformed."""
    try:
        labels = json.loads(payload).get("labels") or {}
        return {str(key): str(value) for key, value in labels.items()}
    except (ValueError, AttributeError):
        return {}
