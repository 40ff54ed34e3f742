"""Finds labels of machines that a task's selector probably means, where the selector misspells them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import SequenceMatcher

_LEAST_SIMILARITY = 0.7
"""If two words are at least this similar (ratio of difflib), one counts as a misspelling of the other: memroy and
memory have 0.83."""

Label = tuple[str, str]


def find_near_label(
    key: str, value: str, labels: Mapping[str, str], offered: Mapping[str, Collection[str]]
) -> Label | None:
    """Return a label of a machine that resembles ``key=value``; None if none does, or some machine has ``key=value``.

    ``labels``: those of the machine. ``offered``: by key, the values of all machines' labels. Two keys also count as
    similar if they differ only in their prefix.
    """
    if key in offered:
        own = labels.get(key)
        found = own is not None and value not in offered[key] and _are_similar(own, value)
        return (key, str(own)) if found else None
    near = [
        (name, own)
        for name, own in labels.items()
        if _are_similar_keys(name, key) and (own == value or _are_similar(own, value))
    ]
    return max(
        near, key=lambda each: (each[1] == value, _compute_similarity(each[0], key), each), default=None
    )


def _are_similar_keys(one: str, other: str) -> bool:
    return one.rpartition("/")[2] == other.rpartition("/")[2] or _are_similar(one, other)


def _are_similar(one: str, other: str) -> bool:
    return _compute_similarity(one, other) >= _LEAST_SIMILARITY


def _compute_similarity(one: str, other: str) -> float:
    return SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio()
