"""Reads topology groups from ConfigMaps, and from PodGroups with constraints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from poseidon.group_trees.spec.constraints import Constraints, read_constraints, size_defects
from poseidon.group_trees.spec.described_maps import DescribedMaps
from poseidon.group_trees.spec.json_text import Reading
from poseidon.group_trees.spec.keys import CONSTRAINTS_ANNOTATION
from poseidon.kube.api.collections import GROUP_MAP_LABEL
from poseidon.kube.api.other_projects.app_network import ConfigMap
from poseidon.kube.api.pod_groups import PodGroup
from poseidon.kube.parsing.defects import Defect
from poseidon.kube.parsing.strict_json import compact

DEFAULT_NAME = "default-group"

GROUP_KEYS = ("name", "size", "priority", "constraints")
"""Keys of a group's ConfigMap that are read.

All keys but these are written by this program, or belong to other programs.
"""

MAX_SIZE = 2**31 - 1

_NUMBER = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A topology group's size and rules. ``priority``: the group's priority; None: the priority of its pods."""

    name: str
    size: int
    priority: int | None = None
    constraints: Constraints = field(default_factory=dict)

    def payload(self, namespace: str) -> bytes:
        """Return the payload of the group's record for the solver."""
        rules = {level: rule.payload() for level, rule in self.constraints.items()}
        return compact({"group": f"{namespace}/{self.name}", "constraints": rules})


def name_of(data: Mapping[str, str]) -> str:
    """Return the name of the group that a ConfigMap describes."""
    return data.get("name", "").strip() or DEFAULT_NAME


def read_group(data: Mapping[str, str]) -> Reading[GroupSpec]:
    """Read the data of a group's ConfigMap. A key that is missing or empty has its default."""
    defects: list[Defect] = []
    size = _number(data, "size", 1, 1, MAX_SIZE, defects)
    priority = None
    if data.get("priority", "").strip():
        priority = _number(data, "priority", 0, -(2**31), 2**31 - 1, defects)
    found = read_constraints(data.get("constraints", ""), "data.constraints")
    defects.extend(found.defects)
    if not defects:
        defects.extend(size_defects(found.spec, size, "data.constraints"))
    spec = GroupSpec(name_of(data), size, priority, found.spec)
    return Reading(spec, tuple(defects), found.remarks)


def read_pod_group(found: PodGroup) -> Reading[GroupSpec]:
    """Read a PodGroup as a topology group: ``spec.minMember`` is its size, an annotation has its rules."""
    path = f"annotation {CONSTRAINTS_ANNOTATION}"
    size = found.spec.min_member
    reading = read_constraints(found.metadata.annotations.get(CONSTRAINTS_ANNOTATION, ""), path)
    defects = reading.defects
    if not defects and size > 0:
        defects = size_defects(reading.spec, size, path)
    spec = GroupSpec(found.metadata.name, size, None, reading.spec)
    return Reading(spec, defects, reading.remarks)


def _number(
    data: Mapping[str, str], key: str, default: int, least: int, most: int, defects: list[Defect]
) -> int:
    text = data.get(key, "").strip()
    if not text:
        return default
    value = int(text) if _NUMBER.fullmatch(text) else None
    if value is not None and least <= value <= most:
        return value
    shown = text if value is not None else repr(text)
    problem = f"{shown} is out of range" if value is not None else f"{shown} is no whole number"
    wanted = "1 or more" if least == 1 else f"one from {least} to {most}"
    defects.append(Defect(f"data.{key}", f"{problem}; write {wanted}"))
    return default


class GroupName(NamedTuple):
    """Identity of a topology group; ``name`` is the name in the ConfigMap's data, not the ConfigMap's own."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class GroupMaps(DescribedMaps[GroupName, GroupSpec]):
    """The ConfigMaps that describe topology groups."""

    def __init__(self) -> None:
        super().__init__(GROUP_KEYS, read_group, group_name, lambda name: f"group {name}")


def group_name(found: ConfigMap) -> GroupName | None:
    """Return the group that a ConfigMap describes, None if it describes none."""
    if GROUP_MAP_LABEL not in found.metadata.labels:
        return None
    return GroupName(found.metadata.namespace or "default", name_of(found.data))


def remarks_on(spec: GroupSpec, levels: tuple[str, ...]) -> list[str]:
    """Return a message for people about each rule whose level the tree does not have."""
    known = ", ".join(levels)
    return [
        f"data.constraints.{level}: the tree has no such level, and the rule is ignored; levels are {known}"
        for level in spec.constraints
        if level not in levels
    ]
