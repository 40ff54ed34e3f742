"""Which tree a cluster has: of a ConfigMap, of node labels, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from poseidon.group_trees.spec.keys import NODE_LEVEL, RACK_LABEL, RACK_LEVEL
from poseidon.group_trees.spec.tree import Path, TreeSpec


@dataclass(frozen=True, slots=True)
class ClusterTree:
    """``levels`` top to bottom, the last one of nodes. ``paths`` by node; others are not in the tree."""

    levels: tuple[str, ...]
    paths: Mapping[str, Path]

    def path(self, node: str) -> Path:
        """Return where a node is; one that is not in the tree stands below units without a name."""
        return self.paths.get(node) or (*("" for _ in self.levels[1:]), node)


def tree_in_force(
    described: TreeSpec | None, labels: Mapping[str, Mapping[str, str]], keys: Sequence[str]
) -> ClusterTree:
    """Return the tree of a cluster whose nodes have these ``labels``.

    What is ``described`` comes first, then the labels with these ``keys`` (nodes that lack one are not in the tree),
    then the label of racks if every node has it. Solvers find the same tree. Else the nodes themselves are the tree.
    """
    if described is not None:
        return ClusterTree(described.levels, described.paths)
    levels: tuple[str, ...] = (NODE_LEVEL,)
    if keys:
        levels = (*level_names(keys), NODE_LEVEL)
    elif labels and all(each.get(RACK_LABEL) for each in labels.values()):
        keys, levels = (RACK_LABEL,), (RACK_LEVEL, NODE_LEVEL)
    paths = {
        node: (*(own[key] for key in keys), node)
        for node, own in labels.items()
        if all(own.get(key) for key in keys)
    }
    return ClusterTree(levels, paths)


def level_names(keys: Sequence[str]) -> tuple[str, ...]:
    """Return names of levels that labels give: what follows a key's last slash, or all of it where that is no name."""
    short = [key.rsplit("/", 1)[-1] for key in keys]
    taken = [*short, NODE_LEVEL]
    return tuple(name if taken.count(name) == 1 else key for name, key in zip(short, keys, strict=True))
