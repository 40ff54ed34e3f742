"""Shows all nodes as columns of figures, for a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poseidon.ui.cluster.node_entry import NodeEntry
    from poseidon.ui.cluster.store import ClusterStore


_COLUMNS = ("cpu", "memory", "pods", "cpuUsed", "memoryUsed", "hot", "flags")


def group_of(entry: NodeEntry | None, level: str) -> str:
    """Return the value of the label by which a node is grouped, or "" if the node lacks it."""
    if not level or entry is None or entry.facts is None:
        return ""
    return entry.facts.labels.get(level, "")


def show_cluster(store: ClusterStore, level: str | None) -> dict[str, Any]:
    """Return all nodes as the JSON object that the documents describe.

    ``level`` is the label by which nodes are grouped, None for the most useful label.
    """
    levels = store.groupings()
    chosen = levels[0] if level is None else level
    entries = sorted(store.iter_nodes(), key=lambda each: (group_of(each, chosen), each.name))
    names = [group_of(each, chosen) for each in entries]
    groups = sorted(set(names))
    index = {name: number for number, name in enumerate(groups)}
    rows = [each.columns(store.thresholds) for each in entries]
    return {
        "levels": levels,
        "level": chosen,
        "groups": groups,
        "nodes": {
            "name": [each.name for each in entries],
            "group": [index[name] for name in names],
            **{name: [row[place] for row in rows] for place, name in enumerate(_COLUMNS)},
        },
        "thresholds": dict(store.thresholds),
    }
