"""Reads a group's rules by topology level from its annotation ``sakkara.group.constraints``.

The annotation names levels by keys of node labels. Its format is that of topology groups (KEP-4986, Sakkara).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from poseidon.group_trees.spec.constraints import SPREAD, LevelRule, read_constraints
from poseidon.group_trees.spec.keys import CONSTRAINTS_ANNOTATION
from poseidon.kube.parsing.label_syntax import key_fault

_PATH = f"metadata.annotations[{CONSTRAINTS_ANNOTATION}]"


Divided: TypeAlias = tuple[tuple[str, LevelRule], ...]
"""Labels with rules, coarsest first."""


@dataclass(frozen=True, slots=True)
class GroupLevels:
    """The rules of one group, as keys of node labels.

    ``within``: all pods of the group must be on nodes with equal values. ``rather_within``: labels of which all pods
    should have one value. ``apart``: each child group has values that no other child group has. ``divided``: rules
    that divide the group's pods, or child groups, over a label's values; the second rule divides those that share a
    value of the first label, and so on.
    """

    within: tuple[str, ...] = ()
    rather_within: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    divided: Divided = ()


NO_LEVELS = GroupLevels()


def read_group_levels(annotations: Mapping[str, str], *, of_groups: bool) -> tuple[GroupLevels, str]:
    """Return the rules of a group, and what is wrong with them ("" for nothing).

    ``of_groups``: whether the group contains groups instead of pods.
    """
    text = annotations.get(CONSTRAINTS_ANNOTATION, "")
    if not text:
        return NO_LEVELS, ""
    reading = read_constraints(text, _PATH)
    faults = [*map(str, reading.defects), *reading.remarks]
    rules = dict(reading.spec)
    faults += [f"{_PATH}.{level}: {fault}" for level in rules if (fault := key_fault(level))]
    divided: Divided = tuple((level, rule) for level, rule in rules.items() if _divides(rule))
    apart: tuple[str, ...] = ()
    if of_groups and all(rule.hard for _, rule in divided):
        apart, divided = tuple(level for level, _ in divided), ()
    if faults:
        return NO_LEVELS, faults[0]
    other = {level: rule for level, rule in rules.items() if level not in {*apart, *dict(divided)}}
    return GroupLevels(
        within=tuple(level for level, rule in other.items() if rule.hard),
        rather_within=tuple(level for level, rule in other.items() if not rule.hard),
        apart=apart,
        divided=divided,
    ), ""


def _divides(rule: LevelRule) -> bool:
    """Return whether a rule divides the members of a group."""
    return rule.kind == SPREAD or bool(rule.partitions or rule.most) or rule.factor > 1
