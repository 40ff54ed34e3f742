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
    has a value of its own; ``divided``: the one label over whose values the pods, or the groups, of the group are
    divided, with its rule.
    """

    within: tuple[str, ...] = ()
    rather_within: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    divided: tuple[tuple[str, LevelRule], ...] = ()


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
    rules = dict(reading.spec)
    faults += [f"{_PATH}.{level}: {fault}" for level in rules if (fault := key_fault(level))]
    divided = tuple((level, rule) for level, rule in rules.items() if _divides(rule, of_groups=of_groups))
    apart = tuple(level for level, rule in rules.items() if of_groups and rule.hard and rule.kind == SPREAD)
    if len(divided) + (bool(apart) and bool(divided)) > 1:
        remedy = "give it to the groups in this one" if of_groups else "keep one"
        faults.append(f"{_PATH}.{divided[-1][0]}: is a second rule that divides; {remedy}")
    if faults:
        return NO_LEVELS, faults[0]
    other = {level: rule for level, rule in rules.items() if level not in {*apart, *dict(divided)}}
    return GroupLevels(
        within=tuple(level for level, rule in other.items() if rule.hard),
        rather_within=tuple(level for level, rule in other.items() if not rule.hard),
        apart=apart,
        divided=divided,
    ), ""


def _divides(rule: LevelRule, *, of_groups: bool) -> bool:
    """Return whether a rule divides the members of a group; a hard spread of groups is told by ``apart`` instead."""
    if rule.hard:
        return rule.kind == SPREAD and not of_groups
    return rule.kind == SPREAD or bool(rule.partitions or rule.most) or rule.factor > 1
