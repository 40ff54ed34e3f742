"""Reads the rules by level that a group in a tree has in its annotation ``sakkara.group.constraints``.

Levels are named by keys of node labels. The format is that of topology groups (KEP-4986, Sakkara).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from poseidon.group_trees.spec.constraints import SPREAD, LevelRule, read_constraints
from poseidon.group_trees.spec.keys import CONSTRAINTS_ANNOTATION
from poseidon.kube.parsing.label_syntax import key_fault

_PATH = f"metadata.annotations[{CONSTRAINTS_ANNOTATION}]"


@dataclass(frozen=True, slots=True)
class GroupLevels:
    """The rules of one group, as keys of node labels.

    ``within``, ``rather_within``: all pods of the group must, or should, share one value; ``apart``: each group in it
    has a value of its own.
    """

    within: tuple[str, ...] = ()
    rather_within: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()


NO_LEVELS = GroupLevels()


def read_group_levels(annotations: Mapping[str, str], *, of_groups: bool) -> tuple[GroupLevels, str]:
    """Return the rules of a group, and what is wrong with them ("" for nothing).

    ``of_groups``: whether the group has groups in it, instead of pods.
    """
    text = annotations.get(CONSTRAINTS_ANNOTATION, "")
    if not text:
        return NO_LEVELS, ""
    reading = read_constraints(text, _PATH)
    faults = [*map(str, reading.defects), *reading.remarks]
    for level, rule in reading.spec.items():
        fault = key_fault(level) or _find_fault(rule, of_groups=of_groups)
        if fault:
            faults.append(f"{_PATH}.{level}: {fault}")
    if faults:
        return NO_LEVELS, faults[0]
    rules = reading.spec.items()
    return GroupLevels(
        within=tuple(level for level, rule in rules if rule.hard and rule.kind != SPREAD),
        rather_within=tuple(level for level, rule in rules if not rule.hard),
        apart=tuple(level for level, rule in rules if rule.hard and rule.kind == SPREAD),
    ), ""


def _find_fault(rule: LevelRule, *, of_groups: bool) -> str:
    """Return why a rule cannot be kept in a tree of groups, "" if it can."""
    if rule.partitions or rule.most or rule.factor > 1:
        return "in a tree of groups a rule takes neither partitions, min and max, nor factor; remove them"
    if rule.kind == SPREAD and not rule.hard:
        return "a tree of groups knows no soft spread; add hard, or make the type pack"
    if rule.kind == SPREAD and not of_groups:
        return "spread is for groups that have groups in them; give it to the CompositePodGroup"
    return ""
