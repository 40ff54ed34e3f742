"""Finds the task classes that a selector of tasks matches."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from cost_models.interface import Int64
from firmament.core.constraints.pod_affinity_score import HARD_AFFINITY_WEIGHT
from firmament.core.model import Requirement, TaskClass, TaskSelector, TaskTerm
from firmament.core.state.classes import ClassRow

_SIGNS = MappingProxyType(
    {"affinity": 1, "anti_affinity": 0, "preferred_affinity": 1, "preferred_anti_affinity": -1}
)
"""By kind of term, the effect on the tasks that the term selects: it attracts (1), excludes (0) or repels (-1) them.
"""

_FEW = 16
"""Up to this number of classes, each class is checked separately."""


def own_selector(selector: TaskSelector, content: TaskClass) -> TaskSelector:
    """Return a class's selector; a selector without any namespace gets the class's own."""
    if selector.namespaces or selector.namespace_labels is not None:
        return selector
    return replace(selector, namespaces=(content.namespace,))


@dataclass(slots=True)
class _Answer:
    """What is known about a selector: which rows of the first ``seen`` classes it matches."""

    meets: _Meeting
    seen: int
    rows: Int64


@dataclass(slots=True, eq=False)
class HeldTerm:
    """A term of pod affinity that some classes state; all these classes share one object.

    ``weight``: by how much each task of a class that states the term improves its domain for tasks that the term
    selects. If ``weight`` is negative, the domain gets worse. If ``weight`` is 0, the term is required anti-affinity,
    which excludes the selected tasks.
    """

    topology_key: str
    weight: int
    selector: TaskSelector


class ClassSelector:
    """Matches selectors against the classes of a table, with cached answers.

    Classes are immutable and namespaces rarely change, so answers are kept until ``reset``, and extended when classes
    are defined. Classes are indexed by label, so a selector for one value of a label checks few classes, however many
    exist. A selector that only excludes classes (such as ``NotIn``) checks only the classes that it excludes.
    """

    def __init__(self, rows: Sequence[ClassRow]) -> None:
        self._rows = rows
        self._indexed = 0
        self._by_pair: dict[tuple[str, str], list[int]] = {}
        self._by_key: dict[str, list[int]] = {}
        self._by_namespace: dict[str, list[int]] = {}
        self._labels: list[Mapping[str, str]] = []
        self._known: dict[TaskSelector, _Answer] = {}
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._held: dict[int, tuple[HeldTerm, ...]] = {}
        self._terms: dict[tuple[str, TaskTerm, int], HeldTerm] = {}
        self._answers: dict[HeldTerm, _Answer] = {}

    def set_namespaces(self, records: Mapping[str, bytes]) -> None:
        """Read the namespaces' labels from records ``{"labels": {...}}`` by name; drop answers if any label changed."""
        namespaces = {name: _labels_of(payload) for name, payload in records.items()}
        if namespaces != self._namespaces:
            self._namespaces = namespaces
            self._known.clear()
            self._answers.clear()

    def reset(self) -> None:
        """Drop all answers, because rows have been given to other classes."""
        self._indexed = 0
        self._by_pair.clear()
        self._by_key.clear()
        self._by_namespace.clear()
        self._labels.clear()
        self._known.clear()
        self._held.clear()
        self._terms.clear()
        self._answers.clear()

    def list_terms(self, row: int) -> tuple[HeldTerm, ...]:
        """Return the distinct terms about other tasks that the class in ``row`` states.

        The terms are cached, because every round needs them.
        """
        held = self._held.get(row)
        if held is None:
            held = self._held[row] = tuple(dict.fromkeys(self._intern_terms(self._rows[row].content)))
        return held

    def find_selected(self, term: HeldTerm) -> Int64:
        """Return the rows of the classes that a term selects, ascending; read-only."""
        answer = self._answers.get(term)
        if answer is None:
            answer = self._answers[term] = self._answer(term.selector)
        return self._bring_up(term.selector, answer)

    def matching(self, selector: TaskSelector) -> Int64:
        """Return the rows of the classes that ``selector`` matches, ascending; read-only."""
        return self._bring_up(selector, self._answer(selector))

    def _intern_terms(self, content: TaskClass) -> Iterator[HeldTerm]:
        for kind, sign in _SIGNS.items():
            given = getattr(content, kind)
            terms = (replace(each, selector=own_selector(each.selector, content)) for each in given)
            for term, times in Counter(terms).items():
                held = self._terms.get((kind, term, times))
                if held is None:
                    weight = sign * times * (term.weight or HARD_AFFINITY_WEIGHT)
                    held = HeldTerm(term.topology_key, weight, term.selector)
                    self._terms[kind, term, times] = held
                yield held

    def _answer(self, selector: TaskSelector) -> _Answer:
        answer = self._known.get(selector)
        if answer is None:
            meets = _Meeting(selector, self._namespaces)
            answer = self._known[selector] = _Answer(meets, 0, np.empty(0, dtype=np.int64))
        return answer

    def _bring_up(self, selector: TaskSelector, answer: _Answer) -> Int64:
        if answer.seen < len(self._rows):
            self._index()
            new = self._new_matches(selector, answer)
            answer.rows = np.concatenate([answer.rows, new]) if len(new) else answer.rows
            answer.seen = len(self._rows)
        return answer.rows

    def matches(self, selector: TaskSelector, row: int) -> bool:
        """Return whether ``selector`` matches the class in ``row``."""
        self._index()
        answer = self._known.get(selector)
        meets = _Meeting(selector, self._namespaces) if answer is None else answer.meets
        return meets(self._labels[row], self._rows[row].content.namespace)

    def _index(self) -> None:
        for row in range(self._indexed, len(self._rows)):
            content = self._rows[row].content
            labels = dict(content.labels)
            self._labels.append(labels)
            self._by_namespace.setdefault(content.namespace, []).append(row)
            for pair in labels.items():
                self._by_pair.setdefault(pair, []).append(row)
                self._by_key.setdefault(pair[0], []).append(row)
        self._indexed = len(self._rows)

    def _new_matches(self, selector: TaskSelector, answer: _Answer) -> Int64:
        """Return the rows of those classes that ``selector`` matches and that were defined since its last answer."""
        first, meets = answer.seen, answer.meets
        candidates = self._candidates(selector, first)
        if candidates is None and len(self._rows) - first > _FEW:
            return self._find_remaining(selector, meets, first)
        found = [
            row
            for row in (range(first, len(self._rows)) if candidates is None else candidates)
            if meets(self._labels[row], self._rows[row].content.namespace)
        ]
        return np.array(found, dtype=np.int64)

    def _find_remaining(self, selector: TaskSelector, meets: _Meeting, first: int) -> Int64:
        """Return the rows from ``first`` on that match a selector without ``In``.

        A selector of this kind selects its namespaces minus excluded classes.
        """
        left = np.zeros(len(self._rows), dtype=np.bool_)
        for namespace, rows in self._by_namespace.items():
            if meets.covers(namespace):
                left[rows] = True
        for requirement in selector.labels:
            if requirement.operator == "Exists":
                having = np.zeros(len(left), dtype=np.bool_)
                having[self._by_key.get(requirement.key, [])] = True
                left &= having
            elif requirement.operator == "DoesNotExist":
                left[self._by_key.get(requirement.key, [])] = False
            else:
                for value in requirement.values:
                    if (excluded := self._by_pair.get((requirement.key, value))) is not None:
                        left[excluded] = False
        return np.flatnonzero(left[first:]) + first

    def _candidates(self, selector: TaskSelector, first: int) -> list[int] | None:
        """Return the rows, from ``first`` on, that could match, ascending; None if all could."""
        if selector.nothing:
            return []
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
        return None if fewest is None else fewest[bisect_left(fewest, first) :]


class _Meeting:
    """Checks classes against one selector.

    The values of labels are looked up in sets, and each namespace is checked only once.
    """

    def __init__(self, selector: TaskSelector, namespaces: Mapping[str, Mapping[str, str]]) -> None:
        self._nothing = selector.nothing
        self._of_labels = _conditions(selector.labels)
        self._named = frozenset(selector.namespaces)
        wanted = selector.namespace_labels
        self._of_namespaces = None if wanted is None else _conditions(wanted)
        self._namespaces = namespaces
        self._known: dict[str, bool] = {}

    def __call__(self, labels: Mapping[str, str], namespace: str) -> bool:
        return not self._nothing and _meets_all(self._of_labels, labels) and self.covers(namespace)

    def covers(self, namespace: str) -> bool:
        """Return whether the selector covers a namespace."""
        if namespace in self._named:
            return True
        if self._of_namespaces is None:
            return False
        if namespace not in self._known:
            self._known[namespace] = _meets_all(self._of_namespaces, self._namespaces.get(namespace, {}))
        return self._known[namespace]


_Condition = tuple[str, str, frozenset[str | None]]


def _conditions(requirements: Sequence[Requirement]) -> list[_Condition]:
    return [(each.key, each.operator, frozenset(each.values)) for each in requirements]


def _meets_all(conditions: Sequence[_Condition], labels: Mapping[str, str]) -> bool:
    return all(_meets(condition, labels) for condition in conditions)


def _meets(condition: _Condition, labels: Mapping[str, str]) -> bool:
    """Return whether one condition on labels holds; NotIn and DoesNotExist also hold if the key is missing."""
    key, operator, values = condition
    value = labels.get(key)
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    return (value is not None) == (operator == "Exists")


def _labels_of(payload: bytes) -> Mapping[str, str]:
    """Return the labels in a namespace's record; no labels if it is malformed."""
    try:
        labels = json.loads(payload).get("labels") or {}
        return {str(key): str(value) for key, value in labels.items()}
    except (ValueError, AttributeError, RecursionError):
        return {}
