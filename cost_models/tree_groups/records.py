"""Records of ``topology``: the tree of a cluster, and the rules of groups.

A record of kind ``TopologyTree`` with the name ``tree`` holds the tree, units by name, machines as leaves:

    {"name": "default-tree", "levels": ["rack", "node"], "resources": ["cpu", "memory"],
     "tree": {"rack-0": {"n1": {}, "n2": {}}, "rack-1": {"n3": {}}}}

A record of kind ``TopologyGroup`` is named after the job; all fields of a constraint but its level may be left out:

    {"group": "ns/name", "constraints": {"rack": {"type": "spread", "hard": false, "partitions": 2,
                                                  "min": 1, "max": 4, "factor": 2}}}

Source of the formats: the ConfigMaps of KEP-4986 (Sakkara). In upstream, ``min`` and ``max`` count only together, and
any type but ``spread`` is a pack; this module reads them in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cost_models.api.parsed_records import BadRecordError, parse_object
from cost_models.group_terms import GroupRules, LevelRule

TREE_NAME = "tree"
DEFAULT_LEVELS = ("rack", "node")


@dataclass(frozen=True, slots=True)
class TreeRecord:
    """``levels``: names from the top.

    ``paths``: by machine, the names of its units, with its own name last, of any length; ``depth``: the longest of
    these lengths; ``resources``: the resources by which the rooms of units are compared, empty for all.
    """

    levels: tuple[str, ...]
    paths: Mapping[str, tuple[str, ...]]
    depth: int
    resources: tuple[str, ...] = ()

    def list_level_names(self) -> tuple[str, ...]:
        """Return a name for each level of the tree; the levels at the top that have no name get ""."""
        return ("",) * (self.depth - len(self.levels)) + self.levels


def parse_tree(payload: bytes) -> TreeRecord:
    """Read a tree; raises ``BadRecordError``."""
    fields = parse_object(payload)
    levels = fields.get("levels", list(DEFAULT_LEVELS))
    if not isinstance(levels, list) or not levels or not all(isinstance(name, str) for name in levels):
        raise BadRecordError(f"levels is {levels!r}; it must be a list of at least one name")
    tree = fields.get("tree")
    if not isinstance(tree, dict) or not tree:
        raise BadRecordError("tree is missing or empty; it must map names of units to what they hold")
    paths: dict[str, tuple[str, ...]] = {}
    _gather(tree, (), paths)
    resources = fields.get("resources", [])
    if not isinstance(resources, list) or not all(isinstance(name, str) for name in resources):
        raise BadRecordError(f"resources is {resources!r}; it must be a list of names")
    depth = max(len(levels), *(len(path) for path in paths.values()))
    return TreeRecord(tuple(levels), paths, depth, tuple(resources))


def _gather(units: Mapping[str, Any], above: tuple[str, ...], paths: dict[str, tuple[str, ...]]) -> None:
    """Add the paths of all machines below some units of the tree to a result."""
    for name, below in units.items():
        path = (*above, name)
        if not isinstance(below, dict):
            raise BadRecordError(f"tree: {'/'.join(path)} is {below!r}; it must be a map")
        if below:
            _gather(below, path, paths)
        elif name in paths:
            raise BadRecordError(f"tree: node {name} is there twice, as {'/'.join(path)} as well")
        else:
            paths[name] = path


def parse_group(payload: bytes) -> GroupRules:
    """Read a group's rules; raises ``BadRecordError``."""
    fields = parse_object(payload)
    constraints = fields.get("constraints", {})
    if not isinstance(constraints, dict):
        raise BadRecordError(f"constraints is {constraints!r}; it must be a map")
    rules = {level: _rule(level, given) for level, given in constraints.items()}
    return GroupRules(str(fields.get("group", "")), rules)


def _rule(level: str, given: object) -> LevelRule:
    if not isinstance(given, dict):
        raise BadRecordError(f"constraints: {level} is {given!r}; it must be a map")
    hard = given.get("hard", False)
    if not isinstance(hard, bool):
        raise BadRecordError(f"constraints: {level}: hard is {hard!r}; it must be true or false")
    least, most = _count(level, given, "min", 0), _count(level, given, "max", 0)
    if not (least and most):
        least = most = 0
    if least > most:
        raise BadRecordError(f"constraints: {level}: min {least} is above max {most}")
    return LevelRule(
        kind="spread" if given.get("type") == "spread" else "pack",
        hard=hard,
        partitions=_count(level, given, "partitions", 0),
        least=least,
        most=most,
        factor=max(1, _count(level, given, "factor", 1)),
    )


def _count(level: str, given: Mapping[str, Any], name: str, default: int) -> int:
    value = given.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadRecordError(f"constraints: {level}: {name} is {value!r}; it must be a positive integer")
    return value
