"""Determines which part of a gang must leave with an evicted task, because the rest of this part would be useless.

A gang without groups may lose the members beyond its minimum; if it loses more, all of it leaves. In a tree of
groups, a group of tasks may lose tasks beyond its minimum, and a group of groups may lose whole groups beyond its
minimum. A group that leaves may force the group that contains it to leave, up to the whole tree. A group that is to
be disrupted only as a whole can lose nothing without leaving.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from firmament.core.model import Job, JobGroup
from firmament.core.tree_solver.nested.lacking import count_missing, find_children


@dataclass(frozen=True, slots=True)
class EvictionUnit:
    """A gang, or a group in its tree, that leaves as a whole once it loses more tasks than it can spare."""

    groups: tuple[str, ...]
    """Names of the groups whose tasks belong to the unit directly, not to units inside it."""
    above: int
    """Index of the unit that contains this one; -1: none does."""
    spare: int
    """How many of its own tasks, or of the units inside it, the unit can lose."""
    counted: bool
    """Whether the departure of this unit counts as a loss for the unit that contains it."""


def count_spare(job: Job, members: int) -> int:
    """Return how many of ``members`` on machines a gang without groups can lose before all of it must leave."""
    return 0 if job.disrupted_whole else max(0, members - job.min_members)


def list_eviction_units(job: Job, have: Mapping[str, int]) -> list[EvictionUnit]:
    """Return the units of a gang that has ``have`` tasks on machines (by group), outer units first.

    The units inside a unit follow it directly. A tree forms a single unit if it needs more tasks than its groups do,
    or has tasks in none of the groups.
    """
    children = find_children(job.groups)
    leaves = tuple(each.name for each in job.groups if each.name not in children)
    if not job.groups:
        return [EvictionUnit(tuple({"": 0, **have}), -1, count_spare(job, sum(have.values())), counted=False)]
    more = job.min_members > count_missing(job.groups, {})[""]
    if job.disrupted_whole or more or not leaves or not have.keys() <= {*leaves}:
        return [EvictionUnit(tuple(dict.fromkeys((*leaves, *have))), -1, 0, counted=False)]
    missing = count_missing(job.groups, have)
    roots = children[""]
    found = [EvictionUnit((), -1, 0, counted=False)] if len(roots) > 1 else []
    todo = [(root, len(found) - 1) for root in reversed(roots)]
    while todo:
        group, above = todo.pop()
        inside = () if group.disrupted_whole else children.get(group.name, ())
        own = () if inside else _list_leaves(group, children)
        there = sum(not missing[each.name] for each in inside) if inside else have.get(group.name, 0)
        whole = not missing[group.name]
        spare = there - group.least if whole and not group.disrupted_whole else 0
        todo += [(each, len(found)) for each in reversed(inside)]
        found.append(EvictionUnit(own, above, spare, counted=whole and above >= 0))
    return found


def _list_leaves(group: JobGroup, children: Mapping[str, Sequence[JobGroup]]) -> tuple[str, ...]:
    """Return the names of the groups of tasks inside a group, or its own name if it contains tasks itself."""
    found, todo = [], [group]
    while todo:
        each = todo.pop()
        inside = children.get(each.name)
        if inside is None:
            found.append(each.name)
        else:
            todo += inside
    return tuple(found)


def find_leaving_units(units: Sequence[EvictionUnit], lost: Sequence[int]) -> list[bool]:
    """Return which units leave as a whole if each of them loses ``lost`` of its own tasks."""
    total, leaves = [*lost], [False] * len(units)
    for number in reversed(range(len(units))):
        unit = units[number]
        leaves[number] = total[number] > unit.spare
        if leaves[number] and unit.counted:
            total[unit.above] += 1
    for number, unit in enumerate(units):
        leaves[number] |= unit.above >= 0 and leaves[unit.above]
    return leaves
