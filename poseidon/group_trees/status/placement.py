"""Where the pods of a group are, as it is written for people and programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from poseidon.group_trees.spec.keys import ROOT
from poseidon.group_trees.spec.tree import Path
from poseidon.group_trees.status.ranks import natural

Placement: TypeAlias = Mapping[str, "Placement | tuple[str, ...]"]
"""Used units within units; a node has the names of its pods."""


def placement(placed: Mapping[str, Path]) -> Placement:
    """Return pods (by name, with the path of their node) by unit, units in the order of the tree."""
    found: dict[str, Any] = {}
    for path, names in _by_path(placed):
        branch = found
        for unit in path[:-1]:
            branch = branch.setdefault(unit, {})
        branch[path[-1]] = tuple(names)
    return found


def pods_of(found: Placement) -> dict[str, tuple[str, ...]]:
    """Return the names of pods by node."""
    by_node: dict[str, tuple[str, ...]] = {}
    for unit, below in found.items():
        by_node.update({unit: below} if isinstance(below, tuple) else pods_of(below))
    return by_node


def placement_text(placed: Mapping[str, Path]) -> str:
    """Return the value of the key ``placement``: units within units down to pods, from the root on."""
    found: dict[str, Any] = {}
    for path, names in _by_path(placed):
        branch = found
        for unit in path:
            branch = branch.setdefault(unit, {})
        branch.update((name, {}) for name in names)
    return json.dumps({ROOT: found}, separators=(",", ":"), ensure_ascii=False)


def rank_text(ranks: Mapping[str, int]) -> str:
    """Return the value of the key ``rank``: pods in the order of their ranks."""
    ordered = sorted(ranks.items(), key=lambda item: item[1])
    return "[" + " ".join(f"({name},{rank})" for name, rank in ordered) + "]"


def _by_path(placed: Mapping[str, Path]) -> Iterable[tuple[Path, list[str]]]:
    found: dict[Path, list[str]] = {}
    for name in sorted(placed, key=natural):
        found.setdefault(placed[name], []).append(name)
    return sorted(found.items())
