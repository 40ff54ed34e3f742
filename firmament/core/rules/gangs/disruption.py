"""Says which part of a gang leaves with a task that is evicted, as the rest of that part would be of no use.

A gang without groups may lose the members that it can spare; beyond these, all of it leaves. In a tree of groups the
same holds for each group: one of tasks can spare those beyond its minimum, one of groups the whole groups beyond its
minimum. A group that leaves may take the group that contains it along, up to the whole tree. A group that is disrupted
as a whole can spare nothing.
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
    """Names of the groups whose tasks it holds directly, not in units inside it."""
    above: int
    """Index of the unit that contains it, -1 for none."""
    spare: int
    """How many tasks of its own, or units inside it, it can lose."""
    counted: bool
    """Whether the unit that contains it loses one of what it can spare when this one leaves."""


def count_spare(job: Job, members: int) -> int:
    """Return how many of ``members`` on machines a gang without groups can lose before all of it must leave."""
    return 0 if job.disrupted_whole else max(0, members - job.min_members)


def list_eviction_units(job: Job, have: Mapping[str, int]) -> list[EvictionUnit]:
    """Return the units of a gang that has ``have`` tasks on machines, by group; each before the units inside it.

    Units inside a unit follow it directly. A tree that needs more tasks than its groups do, or that has tasks in none
    of them, is one unit.
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
    """Return the names of the groups of tasks in a group, or its own name if it holds tasks."""
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
    """Return which units leave as a whole if each of them loses ``lost`` tasks of its own."""
    total, leaves = [*lost], [False] * len(units)
    for number in reversed(range(len(units))):
        unit = units[number]
        leaves[number] = total[number] > unit.spare
        if leaves[number] and unit.counted:
            total[unit.above] += 1
    for number, unit in enumerate(units):
        leaves[number] |= unit.above >= 0 and leaves[unit.above]
    return leaves
