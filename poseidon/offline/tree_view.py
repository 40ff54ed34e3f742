"""Groups as trees for people: units within units, nodes with their pods and ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from rich.tree import Tree

if TYPE_CHECKING:
    from poseidon.group_trees.status.placement import Placement
    from poseidon.offline.planned_groups import PlannedGroup


def group_tree(group: PlannedGroup) -> Tree:
    """Return where a group's pods are; each is followed by its rank."""
    tree = Tree(Text(f"{group.group} ({group.status})"))
    _grow(tree, group.placement, group)
    return tree


def _grow(tree: Tree, placement: Placement, group: PlannedGroup) -> None:
    for unit, below in placement.items():
        if isinstance(below, tuple):
            pods = (f"{name} ({group.ranks[name]})" if name in group.ranks else name for name in below)
            tree.add(Text(f"{unit}: {', '.join(pods)}"))
        else:
            _grow(tree.add(Text(f"{unit} ({_count(below)})")), below, group)


def _count(placement: Placement) -> int:
    """Return how many pods are below a unit."""
    return sum(len(below) if isinstance(below, tuple) else _count(below) for below in placement.values())
