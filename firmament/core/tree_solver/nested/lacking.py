"""Counts how many tasks a tree of groups lacks until each of its groups has what it needs.

A group of tasks is whole if it has ``least`` tasks. A group of groups is whole if ``least`` of its groups are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from firmament.core.model import JobGroup
from firmament.core.reasons import format_number

NEVER = 2**40
"""A number above any number of tasks; it stands for a group that has too few groups in it."""


def find_children(groups: Sequence[JobGroup]) -> dict[str, list[JobGroup]]:
    """Return the groups in each group, by its name, and the roots under ""; groups of tasks have no entry."""
    children: dict[str, list[JobGroup]] = {}
    for each in groups:
        children.setdefault(each.parent, []).append(each)
    return children


def count_missing(groups: Sequence[JobGroup], have: Mapping[str, int]) -> dict[str, int]:
    """Return the fewest further tasks that make each group whole, by its name, and all roots under "".

    ``have``: by name, the tasks that a group has already. A result of `NEVER` or more means that some group has too few
    groups in it.
    """
    children = find_children(groups)
    missing: dict[str, int] = {}
    for each in reversed(groups):
        inside = children.get(each.name)
        if inside is None:
            missing[each.name] = max(0, each.least - have.get(each.name, 0))
        else:
            cheapest = sorted(missing[child.name] for child in inside)[: each.least]
            missing[each.name] = sum(cheapest) + NEVER * (each.least - len(cheapest))
    missing[""] = sum(missing[root.name] for root in children.get("", ()))
    return missing


def list_whole(groups: Sequence[JobGroup], have: Mapping[str, int]) -> set[str]:
    """Return the names of the groups that are whole, and whose groups above are all whole, too."""
    missing = count_missing(groups, have)
    whole: set[str] = set()
    for each in groups:
        if not missing[each.name] and (not each.parent or each.parent in whole):
            whole.add(each.name)
    return whole


def explain_incomplete(groups: Sequence[JobGroup], have: Mapping[str, int], name: str) -> str:
    """Return what group ``name`` lacks, or else what the nearest group above lacks; "" if nothing is lacking."""
    missing = count_missing(groups, have)
    children = find_children(groups)
    known = {each.name: each for each in groups}
    while name in known:
        group = known[name]
        if missing[name]:
            if name not in children:
                return f"group {name} has {have.get(name, 0)} of {format_number(group.least, 'pod')}"
            whole = sum(not missing[child.name] for child in children[name])
            return f"group {name} has {whole} of {format_number(group.least, 'group')} complete"
        name = group.parent
    return ""


def explain_missing(groups: Sequence[JobGroup], have: Mapping[str, int]) -> str:
    """Return which group lacks what, as near to the tasks as possible, for people; "" if no group lacks anything."""
    missing = count_missing(groups, have)
    children = find_children(groups)
    name, found = "", ""
    while missing[name]:
        inside = [each for each in children.get(name, ()) if missing[each.name]]
        least = next((each.least for each in groups if each.name == name), len(children.get("", ())))
        if name and name not in children:
            return f"group {name} has {have.get(name, 0)} of {format_number(least, 'pod')}"
        there = len(children.get(name, ()))
        if there < least:
            return f"group {name} has {there} of {format_number(least, 'group')}"
        whole = there - len(inside)
        found = f"group {name} has {whole} of {format_number(least, 'group')} complete"
        nearest = min(inside, key=lambda each: missing[each.name])
        if missing[nearest.name] >= NEVER and name:
            return found
        name = nearest.name
    return found
