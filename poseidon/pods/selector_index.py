"""Who looks at which labels: what the selectors of all pods seen so far can tell apart.

A selector matches a pod only if the pod has every label that it needs, and is in a namespace that it covers.
Of all other pods it need not see anything, which is what keeps the labels that differ from pod to pod out of
classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protos.firmament.v1 import scheduler_pb2 as pb

_NEEDING = ("In", "Exists")
_NO_LABEL = ""
"""Stands for the label that looks without needs are filed under; no label has an empty key."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one kind of selector sees of the pods that it may match.

    ``needs``: labels without which it matches none. ``reads``: all labels that it has a condition on. ``limited``:
    it covers some namespaces only.
    """

    needs: frozenset[str]
    reads: frozenset[str]
    limited: bool


@dataclass(frozen=True, slots=True)
class VisibleLabels:
    """What all selectors together see of a pod: labels by name, and its namespace."""

    labels: frozenset[str] = frozenset()
    namespace: bool = False


class SelectorIndex:
    """Collects the looks of selectors; nothing is forgotten, so that what is seen only grows."""

    def __init__(self) -> None:
        self._anywhere: dict[str, set[Look]] = {}
        self._within: dict[str, dict[str, set[Look]]] = {}
        self._grown: set[str] = set()
        self._grown_anywhere = False

    def __len__(self) -> int:
        anywhere = sum(map(len, self._anywhere.values()))
        return anywhere + sum(len(looks) for filed in self._within.values() for looks in filed.values())

    def grow_everywhere(self) -> None:
        """Say at the next ``take_grown`` that more may be seen of all pods."""
        self._grown_anywhere = True

    def observe(self, rules: pb.TaskClass) -> None:
        """Take up the selectors of a class."""
        for terms in (
            rules.affinity,
            rules.anti_affinity,
            rules.preferred_affinity,
            rules.preferred_anti_affinity,
        ):
            for term in terms:
                self._add(term.selector)
        for rule in rules.spread:
            self._add(rule.selector)

    def watch(self, selector: pb.TaskSelector) -> None:
        """Take up a selector that is no pod's: that of a disruption budget."""
        self._add(selector)

    def visible_labels(self, namespace: str, labels: frozenset[str]) -> VisibleLabels:
        """Return what is seen of pods with these labels (by name) in a namespace."""
        seen: set[str] = set()
        limited = False
        for look in self._looks(namespace, labels):
            if look.needs <= labels:
                seen |= look.reads
                limited = limited or look.limited
        return VisibleLabels(labels & seen, limited)

    def take_grown(self) -> frozenset[str] | None:
        """Return the namespaces of which more may be seen than at the last call, None for all of them."""
        grown, anywhere = frozenset(self._grown), self._grown_anywhere
        self._grown.clear()
        self._grown_anywhere = False
        return None if anywhere else grown

    def _looks(self, namespace: str, labels: frozenset[str]) -> Iterator[Look]:
        for filed in (self._anywhere, self._within.get(namespace)):
            if filed:
                yield from filed.get(_NO_LABEL, ())
                for label in labels & filed.keys():
                    yield from filed[label]

    def _add(self, selector: pb.TaskSelector) -> None:
        if selector.nothing:
            return
        by_label = selector.HasField("namespaces_by_label")
        needs = frozenset(each.key for each in selector.labels if each.operator in _NEEDING)
        look = Look(
            needs=needs,
            reads=frozenset(each.key for each in selector.labels),
            limited=not by_label or bool(selector.namespaces_by_label.labels),
        )
        if by_label:
            # Which namespaces have the labels may change; so it counts as looking everywhere.
            self._grown_anywhere |= _file(self._anywhere, look)
            return
        for namespace in selector.namespaces:
            if _file(self._within.setdefault(namespace, {}), look):
                self._grown.add(namespace)


def _file(filed: dict[str, set[Look]], look: Look) -> bool:
    """File a look under one label that it needs. Returns whether it is new."""
    looks = filed.setdefault(min(look.needs, default=_NO_LABEL), set())
    if look in looks:
        return False
    looks.add(look)
    return True
