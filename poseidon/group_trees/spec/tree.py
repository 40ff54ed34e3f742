"""Reads the ConfigMap that describes the cluster's tree of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from poseidon.group_trees.spec.json_text import Reading, format_json, names, parse_json
from poseidon.group_trees.spec.keys import NODE_LEVEL, RACK_LEVEL
from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.strict_json import compact

DEFAULT_TREE_NAME = "default-tree"
DEFAULT_LEVELS = (RACK_LEVEL, NODE_LEVEL)
DEFAULT_RESOURCES = ("cpu", "memory")

TREE_KEYS = ("name", "resource-names", "level-names", "tree")
"""Keys of the tree's ConfigMap that are read."""

Path: TypeAlias = tuple[str, ...]
"""Names of the units from the level below the root down to a node."""

_MAX_DEPTH = 32
"""Most levels of a tree; real trees have a handful."""


@dataclass(frozen=True, slots=True)
class TreeSpec:
    """A tree of nodes as a ConfigMap describes it.

    ``levels``: names from top to bottom without the root; the last level is that of nodes. ``resources``: names of
    resources that decide how many pods fit. ``leaves``: path by node, in the order of the tree. The whole path
    identifies a unit, so racks in two rows may have the same name.
    """

    name: str
    levels: tuple[str, ...]
    resources: tuple[str, ...]
    leaves: Mapping[str, Path]

    @property
    def paths(self) -> dict[str, Path]:
        """Paths by node, all of the same length: a node above the lowest level repeats its name on lower levels."""
        depth = len(self.levels)
        return {
            node: (*path, *(node for _ in range(depth - len(path)))) for node, path in self.leaves.items()
        }

    def payload(self) -> bytes:
        """Return the payload of the tree's record for the solver."""
        tree: dict[str, Any] = {}
        for path in self.leaves.values():
            branch = tree
            for unit in path:
                branch = branch.setdefault(unit, {})
        shape = {"name": self.name, "levels": list(self.levels), "resources": list(self.resources)}
        return compact({**shape, "tree": tree})


def read_tree(data: Mapping[str, str]) -> Reading[TreeSpec]:
    """Read the data of the tree's ConfigMap.

    The names of levels apply to the lowest levels of the tree; the last name is that of the level of nodes.
    """
    defects: list[Defect] = []
    levels = _read_list(data, "level-names", DEFAULT_LEVELS, defects)
    resources = _read_list(data, "resource-names", DEFAULT_RESOURCES, defects)
    text = data.get("tree", "")
    if not text.strip():
        defects.append(Defect("data.tree", "missing; write units within units, nodes as {}"))
    given = parse_json(text, "data.tree", dict, defects) if text.strip() else None
    remarks: list[str] = []
    leaves: dict[str, Path] = {}
    if given is not None and _is_shallow(given, defects):
        leaves = _unique(list(_leaves(given, defects)), defects)
        levels = _name_levels(levels, max(map(len, leaves.values()), default=len(levels)), remarks)
        if not given:
            defects.append(Defect("data.tree", "is empty; write units within units, nodes as {}"))
    name = data.get("name", "").strip() or DEFAULT_TREE_NAME
    return Reading(TreeSpec(name, levels, resources, leaves), tuple(defects), tuple(remarks))


def _read_list(
    data: Mapping[str, str], key: str, default: tuple[str, ...], defects: list[Defect]
) -> tuple[str, ...]:
    text = data.get(key, "")
    return (names(text, f"data.{key}", defects) or default) if text.strip() else default


def _is_shallow(tree: Mapping[str, Any], defects: list[Defect]) -> bool:
    level: list[Any] = [tree]
    for _ in range(_MAX_DEPTH + 1):
        level = [below for each in level if isinstance(each, dict) for below in each.values()]
        if not level:
            return True
    defects.append(Defect("data.tree", f"has more than {_MAX_DEPTH} levels; make it flatter"))
    return False


def _leaves(tree: Mapping[str, Any], defects: list[Defect], above: Path = ()) -> Iterator[Path]:
    """Yield the paths of the units that contain no other units, ordered by name."""
    for unit in sorted(tree):
        below, path = tree[unit], (*above, unit)
        if not unit:
            defects.append(
                Defect("data.tree", f"a unit below {_format_path(above)} has no name; give it one")
            )
        elif not isinstance(below, dict):
            problem = f"{format_json(below)} is no map; write what is below it, or {{}} for a node"
            defects.append(Defect("data.tree", f"{_format_path(path)}: {problem}"))
        elif below:
            yield from _leaves(below, defects, path)
        else:
            yield path


def _name_levels(levels: tuple[str, ...], depth: int, remarks: list[str]) -> tuple[str, ...]:
    """Return one name for each of ``depth`` levels, top to bottom; the given names apply to the lowest levels."""
    if depth < len(levels):
        unused = ", ".join(levels[: len(levels) - depth])
        remarks.append(f"data.level-names: the tree has {depth} levels; {unused} names none of them")
        return levels[len(levels) - depth :]
    lacking = depth - len(levels)
    if lacking:
        remarks.append(
            f"data.level-names: {lacking} of {depth} levels have no name, and no rule can be given for them"
        )
    return (*(f"level {index + 1}" for index in range(lacking)), *levels)


def _unique(leaves: list[Path], defects: list[Defect]) -> dict[str, Path]:
    """Return paths by node; add a defect for each node that the tree contains twice."""
    for node, times in Counter(path[-1] for path in leaves).items():
        if times > 1:
            where = [_format_path(path[:-1]) for path in leaves if path[-1] == node]
            problem = f"node {node!r} stands below {' and below '.join(where)}; a node is in one place"
            defects.append(Defect("data.tree", problem))
    return {path[-1]: path for path in leaves}


def _format_path(path: Path) -> str:
    return "/".join(path) or "the root"
