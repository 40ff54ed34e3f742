"""All nodes as columns, for a heat map."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poseidon.ui.cluster.node_entry import NodeEntry
    from poseidon.ui.cluster.store import ClusterStore

ZONE = "topology.kubernetes.io/zone"
_MOST_VALUES = 200
_MOST_KEYS = 30
_PREFERRED = (ZONE, "topology.kubernetes.io/region", "node.kubernetes.io/instance-type")


def groupings(entries: Iterable[NodeEntry]) -> list[str]:
    """Return the labels by which nodes can be told apart in groups, the most useful first; "" for all in one."""
    values: dict[str, set[str]] = {}
    borne: Counter[str] = Counter()
    nodes = 0
    for entry in entries:
        if entry.facts is None:
            continue
        nodes += 1
        for key, value in entry.facts.labels.items():
            found = values.setdefault(key, set())
            if len(found) <= _MOST_VALUES:
                found.add(value)
            borne[key] += 1
    most = min(_MOST_VALUES, max(nodes // 2, 1))
    useful = [key for key, found in values.items() if 1 < len(found) <= most]
    useful.sort(key=lambda key: (*_rank(key), -borne[key], len(values[key]), key))
    return [*useful[:_MOST_KEYS], ""]


def _rank(key: str) -> tuple[int]:
    return (_PREFERRED.index(key) if key in _PREFERRED else len(_PREFERRED),)


def group_of(entry: NodeEntry | None, level: str) -> str:
    """Return the group of a node by a label; "" for one without it."""
    if not level or entry is None or entry.facts is None:
        return ""
    return entry.facts.labels.get(level, "")


def cluster(store: ClusterStore, level: str | None) -> dict[str, Any]:
    """Return the documented JSON object. ``level`` None: the most useful label."""
    levels = groupings(store.nodes.values())
    chosen = levels[0] if level is None else level
    entries = sorted(store.known_nodes(), key=lambda each: (group_of(each, chosen), each.name))
    names = [group_of(each, chosen) for each in entries]
    groups = sorted(set(names))
    index = {name: number for number, name in enumerate(groups)}
    columns = list(zip(*(each.columns(store.thresholds) for each in entries), strict=True)) or [()] * 7
    return {
        "levels": levels,
        "level": chosen,
        "groups": groups,
        "nodes": {
            "name": [each.name for each in entries],
            "group": [index[name] for name in names],
            **dict(
                zip(("cpu", "memory", "pods", "cpuUsed", "memoryUsed", "hot", "flags"), columns, strict=True)
            ),
        },
        "thresholds": dict(store.thresholds),
    }
