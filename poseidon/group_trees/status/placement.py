"""Ranks the pods of a group by their nodes, and formats placement and ranks for people and programs.

Pods near the group's master pod get the lowest ranks. Pods with consecutive indices get consecutive ranks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from poseidon.group_trees.spec.keys import ROOT
from poseidon.group_trees.spec.tree import Path

MASTER = "master"
"""The pod whose name contains this is the group's master; if several do, the first by name."""

_DIGITS = re.compile(r"(\d+)", re.ASCII)

Placement: TypeAlias = Mapping[str, "Placement | tuple[str, ...]"]
"""Units of the tree that are used, within their parents; for a node, the names of its pods."""


def ranks(placed: Mapping[str, Path], kept: Mapping[str, int]) -> dict[str, int]:
    """Return the rank of each pod (0 and up) by the pod's name, sorted by rank.

    ``placed``: path of each pod's node, all paths of the same length. ``kept``: ranks that pods have already. Pods
    keep ranks that they have, so that a replacement gets the rank of the pod that it replaces, unless a rank is out
    of range or given twice. The other pods are ordered by distance from the master, then by the order of the tree,
    and on a node by their indices.
    """
    taken: dict[int, str] = {}
    for name in sorted(kept.keys() & placed.keys(), key=natural):
        if 0 <= kept[name] < len(placed):
            taken.setdefault(kept[name], name)
    ranked = set(taken.values())
    unranked = [name for name in placed if name not in ranked]
    if not unranked:
        return {taken[rank]: rank for rank in range(len(placed))}
    first = taken.get(0) or choose_master(unranked)
    waiting = sorted(
        unranked,
        # The master comes before the other pods on its node.
        key=lambda name: (
            name != first,
            compute_distance(placed[name], placed[first]),
            placed[name],
            natural(name),
        ),
    )
    following = iter(waiting)
    return {taken.get(rank) or next(following): rank for rank in range(len(placed))}


def choose_master(names: Iterable[str]) -> str:
    """Return the pod that gets rank 0: the first whose name contains ``MASTER``, else the pod with the lowest index."""
    ordered = sorted(names, key=natural)
    return next((name for name in ordered if MASTER in name), ordered[0])


def compute_distance(one: Path, other: Path) -> int:
    """Return the distance of pods on two nodes in edges of the tree: 2 on one node, 2 more per level that differs."""
    common = next((level for level, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    depth = max(len(one), len(other))
    return 2 if common is None else 2 * (depth - common + 1)


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """Return a sort key that orders names by their numbers: ``pod-9`` before ``pod-10``."""
    parts = _DIGITS.split(name)
    return tuple(
        (parts[index], int(parts[index + 1]) if index + 1 < len(parts) else -1)
        for index in range(0, len(parts), 2)
    )


def group_by_unit(placed: Mapping[str, Path]) -> Placement:
    """Return the pods by unit of the tree; ``placed``: path of each pod's node, by the pod's name."""
    by_path: dict[Path, list[str]] = {}
    for name in sorted(placed, key=natural):
        by_path.setdefault(placed[name], []).append(name)
    found: dict[str, Any] = {}
    for path, names in sorted(by_path.items()):
        branch = found
        for unit in path[:-1]:
            branch = branch.setdefault(unit, {})
        branch[path[-1]] = tuple(names)
    return found


def pods_of(found: Placement) -> dict[str, tuple[str, ...]]:
    """Return the names of a placement's pods, by node."""
    by_node: dict[str, tuple[str, ...]] = {}
    for unit, below in found.items():
        by_node.update({unit: below} if isinstance(below, tuple) else pods_of(below))
    return by_node


def placement_text(placed: Mapping[str, Path]) -> str:
    """Return the value of the key ``group_by_unit``: JSON of units within units, from the root down to pods."""
    return json.dumps({ROOT: _as_maps(group_by_unit(placed))}, separators=(",", ":"), ensure_ascii=False)


def _as_maps(found: Placement) -> dict[str, Any]:
    return {
        unit: {name: {} for name in below} if isinstance(below, tuple) else _as_maps(below)
        for unit, below in found.items()
    }


def rank_text(ranks: Mapping[str, int]) -> str:
    """Return the value of the key ``rank``: pods in the order of their ranks."""
    ordered = sorted(ranks.items(), key=lambda item: item[1])
    return "[" + " ".join(f"({name},{rank})" for name, rank in ordered) + "]"
