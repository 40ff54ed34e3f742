"""Labels that are asked for and that no machine has, but nearly: written wrongly, as one may suppose."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from difflib import SequenceMatcher

from firmament.core.model import NodeSelectorTerm, Requirement, TaskClass

_ALIKE = 0.7
"""Least ratio, as difflib has it, of words of which one may be meant by the other: memroy and memory have 0.83."""

Label = tuple[str, str]


def find_near_label(
    key: str, value: str, labels: Mapping[str, str], offered: Mapping[str, Collection[str]]
) -> Label | None:
    """Return the label of a machine that is nearly ``key=value``; None if there is none, or any machine has that one.

    ``offered``: by key, the values of all machines' labels. A key counts as nearly the same with another prefix, too.
    """
    if key in offered:
        own = labels.get(key)
        found = own is not None and value not in offered[key] and _alike(own, value)
        return (key, str(own)) if found else None
    near = [
        (name, own)
        for name, own in labels.items()
        if _keys_alike(name, key) and (own == value or _alike(own, value))
    ]
    return max(near, key=lambda each: (each[1] == value, _ratio(each[0], key), each), default=None)


def corrections(
    content: TaskClass, labels: Mapping[str, str], offered: Mapping[str, Collection[str]]
) -> Iterator[tuple[TaskClass, str, Label, Label]]:
    """Yield a class with one label corrected, the rule that asks for it, and the label before and after."""
    for index, (key, value) in enumerate(content.node_selector):
        found = find_near_label(key, value, labels, offered)
        if found is not None:
            selector = (*content.node_selector[:index], found, *content.node_selector[index + 1 :])
            yield replace(content, node_selector=selector), "nodeSelector", (key, value), found
    for index, term in enumerate(content.required):
        for changed, before, after in _of_term(term, labels, offered):
            required = (*content.required[:index], changed, *content.required[index + 1 :])
            yield replace(content, required=required), "required nodeAffinity", before, after


def _of_term(
    term: NodeSelectorTerm, labels: Mapping[str, str], offered: Mapping[str, Collection[str]]
) -> Iterator[tuple[NodeSelectorTerm, Label, Label]]:
    for index, each in enumerate(term.labels):
        known = offered.get(each.key, ())
        if each.operator != "In" or any(value in known for value in each.values):
            continue
        for value in each.values:
            found = find_near_label(each.key, value, labels, offered)
            if found is not None:
                requirement = Requirement(found[0], "In", (found[1],))
                parts = (*term.labels[:index], requirement, *term.labels[index + 1 :])
                yield replace(term, labels=parts), (each.key, value), found


def _keys_alike(one: str, other: str) -> bool:
    return one.rpartition("/")[2] == other.rpartition("/")[2] or _alike(one, other)


def _alike(one: str, other: str) -> bool:
    return _ratio(one, other) >= _ALIKE


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio()
