"""Reads the rules of a topology group, one per level of the tree, as people write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from poseidon.group_trees.spec.json_text import Reading, format_json, parse_json
from poseidon.kube.parsing.defects import Defect
from protos.conventions.number_formats import format_count, format_count_with_verb

PACK, SPREAD = "pack", "spread"

_FIELDS = frozenset({"type", "hard", "partitions", "min", "max", "factor"})
_LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class LevelRule:
    """How pods are divided over the units (such as racks) of one level of the tree.

    ``kind``: pack or spread; ``hard``: all pods on one unit (pack), or at most one pod on each unit (spread).
    ``partitions``: the number of used units, 0 for any. A used unit has ``least`` to ``most`` pods (no limits if
    ``most`` is 0), and a multiple of ``factor`` pods.
    """

    kind: str = PACK
    hard: bool = False
    partitions: int = 0
    least: int = 0
    most: int = 0
    factor: int = 1

    def payload(self) -> dict[str, Any]:
        """Return the rule in the form of a record, without fields that have default values."""
        found: dict[str, Any] = {"type": self.kind, "hard": self.hard}
        if self.partitions:
            found["partitions"] = self.partitions
        if self.most:
            found.update(min=self.least, max=self.most)
        if self.factor > 1:
            found["factor"] = self.factor
        return found


Constraints: TypeAlias = Mapping[str, LevelRule]
"""Rules by name of the level. A level without rule prefers few units (pack, not hard)."""


def read_constraints(text: str, path: str) -> Reading[Constraints]:
    """Read constraints from JSON; an empty text means no constraints.

    Some faults are ignored with a remark: other fields of a hard rule, ``min`` without ``max`` and the reverse, and
    an unknown type. Every other fault is a defect.
    """
    defects: list[Defect] = []
    remarks: list[str] = []
    given = parse_json(text, path, dict, defects) if text.strip() else {}
    rules = {level: _rule(rule, f"{path}.{level}", defects, remarks) for level, rule in (given or {}).items()}
    return Reading(rules, tuple(defects), tuple(remarks))


def size_defects(constraints: Constraints, size: int, path: str) -> tuple[Defect, ...]:
    """Return the defects of rules for a group of ``size`` pods that do not depend on the cluster."""
    found = []
    for level, rule in constraints.items():
        where = f"{path}.{level}"
        if rule.factor > 1 and size % rule.factor:
            fitting = size - size % rule.factor, size + rule.factor - size % rule.factor
            wanted = " or ".join(str(each) for each in fitting if each)
            are = format_count_with_verb(size, "pod")
            problem = f"{are} no multiple of {rule.factor}; make the size {wanted}, or change the factor"
            found.append(Defect(f"{where}.factor", problem))
        if rule.least > size:
            problem = f"{rule.least} is more than the {format_count(size, 'pod')} of the group; lower it"
            found.append(Defect(f"{where}.min", problem))
        if rule.partitions * max(rule.least, 1) > size:
            share = f" with at least {format_count(rule.least, 'pod')} each" if rule.least > 1 else ""
            most = format_count(size, "pod")
            problem = f"{rule.partitions} partitions{share} are more than {most} can fill; lower it"
            found.append(Defect(f"{where}.partitions", problem))
    return tuple(found)


def _rule(given: Any, path: str, defects: list[Defect], remarks: list[str]) -> LevelRule:
    if not isinstance(given, dict):
        defects.append(
            Defect(path, f'{format_json(given)} is no rule; write a map such as {{"type": "pack"}}')
        )
        return LevelRule()
    unknown = sorted(given.keys() - _FIELDS)
    if unknown:
        remarks.append(
            f"{path}: {', '.join(unknown)} unknown and ignored; known are {', '.join(sorted(_FIELDS))}"
        )
    kind = given.get("type", PACK)
    if not isinstance(kind, str):
        defects.append(Defect(f"{path}.type", f"{format_json(kind)} is no type; write pack or spread"))
    elif kind not in (PACK, SPREAD):
        remarks.append(f"{path}.type: {kind!r} is neither pack nor spread, and counts as pack")
    hard = given.get("hard", False)
    if not isinstance(hard, bool):
        defects.append(Defect(f"{path}.hard", f"{format_json(hard)} is neither true nor false"))
        hard = False
    partitions = _count(given, "partitions", path, defects)
    least, most = _count(given, "min", path, defects), _count(given, "max", path, defects)
    factor = _count(given, "factor", path, defects)
    if least and most and least > most:
        defects.append(Defect(f"{path}.min", f"{least} is more than max, {most}; lower min or raise max"))
    if bool(least) != bool(most) and not defects:
        alone, lacking = ("min", "max") if least else ("max", "min")
        remarks.append(f"{path}.{alone}: counts only together with {lacking}, and is ignored; add {lacking}")
        least = most = 0
    if hard and (partitions or most or factor > 1):
        remarks.append(
            f"{path}: a hard rule takes neither partitions, min and max, nor factor; they are ignored"
        )
        return LevelRule(SPREAD if kind == SPREAD else PACK, hard)
    return LevelRule(SPREAD if kind == SPREAD else PACK, hard, partitions, least, most, max(factor, 1))


def _count(given: Mapping[str, Any], key: str, path: str, defects: list[Defect]) -> int:
    """Return the value of a key, a whole number above 0; 0 if it is missing or, with a defect, malformed."""
    value = given.get(key)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _LARGEST:
        defects.append(
            Defect(f"{path}.{key}", f"{format_json(value)} is out of range; write a whole number from 1 on")
        )
        return 0
    return value
