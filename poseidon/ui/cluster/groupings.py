"""Chooses the node labels by which the dashboard can group nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

ZONE = "topology.kubernetes.io/zone"
_MOST_VALUES = 200
_MOST_KEYS = 30
_PREFERRED = (ZONE, "topology.kubernetes.io/region", "node.kubernetes.io/instance-type")


def groupings(nodes: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the keys of labels by which nodes can be grouped, the most useful first; the key "" means one group."""
    values: dict[str, set[str]] = {}
    borne: Counter[str] = Counter()
    count = 0
    for labels in nodes:
        count += 1
        for key, value in labels.items():
            found = values.setdefault(key, set())
            if len(found) <= _MOST_VALUES:
                found.add(value)
            borne[key] += 1
    most = min(_MOST_VALUES, max(count // 2, 2))
    useful = [key for key, found in values.items() if 1 < len(found) <= most]
    useful.sort(key=lambda key: (*_rank(key), -borne[key], len(values[key]), key))
    return [*useful[:_MOST_KEYS], ""]


def _rank(key: str) -> tuple[int]:
    return (_PREFERRED.index(key) if key in _PREFERRED else len(_PREFERRED),)
