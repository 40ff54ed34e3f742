"""What the objects that describe groups say: ConfigMaps, and PodGroups with constraints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from poseidon.group_trees.spec.constraints import Constraints, read_constraints, size_defects
from poseidon.group_trees.spec.json_text import compact
from poseidon.group_trees.spec.keys import CONSTRAINTS_ANNOTATION
from poseidon.kube.parsing.defects import Defect

if TYPE_CHECKING:
    from poseidon.kube.api.pod_groups import PodGroup

DEFAULT_NAME = "default-group"

GROUP_KEYS = ("name", "size", "priority", "constraints")
"""Keys of a group's ConfigMap that are read; all others are written, or somebody else's."""

MAX_SIZE = 2**31 - 1

_NUMBER = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A group's size and rules. ``priority``: where it stands among groups; None: where its pods' own puts it."""

    name: str
    size: int
    priority: int | None = None
    constraints: Constraints = field(default_factory=dict)

    def payload(self, namespace: str) -> bytes:
        """Return the payload of the group's record."""
        rules = {level: rule.payload() for level, rule in self.constraints.items()}
        return compact({"group": f"{namespace}/{self.name}", "constraints": rules})


@dataclass(frozen=True, slots=True)
class GroupReading:
    """What an object says of a group; ``spec`` counts only without ``defects``."""

    spec: GroupSpec
    defects: tuple[Defect, ...] = ()
    remarks: tuple[str, ...] = ()


def name_of(data: Mapping[str, str]) -> str:
    """Return the name of the group that a ConfigMap describes."""
    return data.get("name", "").strip() or DEFAULT_NAME


def read_group(data: Mapping[str, str]) -> GroupReading:
    """Read the data of a group's ConfigMap. Keys that are absent or empty take their defaults."""
    defects: list[Defect] = []
    size = _number(data, "size", 1, 1, MAX_SIZE, defects)
    priority = None
    if data.get("priority", "").strip():
        priority = _number(data, "priority", 0, -(2**31), 2**31 - 1, defects)
    found = read_constraints(data.get("constraints", ""), "data.constraints")
    defects.extend(found.defects)
    if not defects:
        defects.extend(size_defects(found.constraints, size, "data.constraints"))
    spec = GroupSpec(name_of(data), size, priority, found.constraints)
    return GroupReading(spec, tuple(defects), found.remarks)


def read_pod_group(found: PodGroup) -> GroupReading:
    """Read a PodGroup as a group: its size is ``spec.minMember``, its rules are in an annotation."""
    path = f"annotation {CONSTRAINTS_ANNOTATION}"
    size = found.spec.min_member
    reading = read_constraints(found.metadata.annotations.get(CONSTRAINTS_ANNOTATION, ""), path)
    defects = reading.defects
    if not defects and size > 0:
        defects = size_defects(reading.constraints, size, path)
    spec = GroupSpec(found.metadata.name, size, None, reading.constraints)
    return GroupReading(spec, defects, reading.remarks)


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
