"""Counts in a tree of groups: how many tasks it lacks until each of its groups has what it needs.

A group that holds tasks is whole with ``least`` of them, one that holds groups with ``least`` whole ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from firmament.core.model import JobGroup
from firmament.core.reasons import format_number

NEVER = 2**40
"""Stands for more tasks than there ever are: a group lacks groups."""


def find_children(groups: Sequence[JobGroup]) -> dict[str, list[JobGroup]]:
    """Return the groups in each group by its name, roots by ""; groups that hold tasks have no entry."""
    children: dict[str, list[JobGroup]] = {}
    for each in groups:
        children.setdefault(each.parent, []).append(each)
    return children


def count_missing(groups: Sequence[JobGroup], have: Mapping[str, int]) -> dict[str, int]:
    """Return by name of each group, and for all together by "", the fewest further tasks that make it whole.

    ``have``: tasks of each group that count already. `NEVER` and more: some group has too few groups in it.
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
    """Return the groups that have what they need, as all groups above them do."""
    missing = count_missing(groups, have)
    whole: set[str] = set()
    for each in groups:
        if not missing[each.name] and (not each.parent or each.parent in whole):
            whole.add(each.name)
    return whole


def explain_incomplete(groups: Sequence[JobGroup], have: Mapping[str, int], name: str) -> str:
    """Return what the first group lacks, of a group and those above it, in words for people; "" if none does."""
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
    """Return which group lacks what, of those nearest to the tasks, in words for people; "" if none does."""
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
