"""Shows all nodes as columns, for a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poseidon.ui.cluster.node_entry import NodeEntry
    from poseidon.ui.cluster.store import ClusterStore


_COLUMNS = ("cpu", "memory", "pods", "cpuUsed", "memoryUsed", "hot", "flags")


def group_of(entry: NodeEntry | None, level: str) -> str:
    """Return the value of a node's label by which it is grouped, "" without the label."""
    if not level or entry is None or entry.facts is None:
        return ""
    return entry.facts.labels.get(level, "")


def show_cluster(store: ClusterStore, level: str | None) -> dict[str, Any]:
    """Return the documented JSON object of the cluster. ``level``: the label to group by, None for the most
    useful one.
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
