"""Says for people why a tree of groups has no places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from firmament.core.reasons import format_number, lack_of
from firmament.core.tree_solver.nested.problem import NestedProblem
from firmament.core.tree_solver.nested.search import SearchSteps
from firmament.core.tree_solver.nested.shortages.domain_room import count_in_domain, count_placed, count_tasks
from firmament.core.tree_solver.nested.shortages.level_reasons import (
    LevelReason,
    find_level_reason,
    find_out,
    find_scarce_resources,
)
from firmament.core.tree_solver.nested.trees import LinkedGroup
from firmament.core.tree_solver.tree import Shortage

NAMED = 3
"""Most groups that a message names after the first; if there are more groups, the message gives their number."""


def explain_shortage(problem: NestedProblem, steps: SearchSteps) -> Shortage:
    """Return why a tree of groups without divisions finds no places.

    The groups' labels are added level by level, from the tasks up; the first level that leaves no placement is named.
    """
    group = problem.group
    free = replace(group, within=((),) * len(group.names), rather_within=((),) * len(group.names))
    if not find_out(problem, free, steps)[0]:
        loose, total = count_placed(problem, free), int(group.part_count.sum())
        words = f"{loose} of {format_number(total, 'pod')} {'fits' if 1 in (loose, total) else 'fit'}"
        lack = name_resources(problem, find_scarce_resources(problem, free, steps))
        return Shortage("", f"{words} even without its rules about domains{lack}", loose)
    reason = find_level_reason(problem, free, steps)
    if reason is None:
        # The search with all constraints has found places now, so the first search ended at its limit of steps.
        return Shortage("", "no way was found to place all of its groups", 0)
    return _describe(problem, reason)


def name_resources(problem: NestedProblem, scarce: Sequence[int]) -> str:
    """Return the lack of scarce resources (indices in the problem) in the words of kube-scheduler; "" for none."""
    names = " and ".join(lack_of(problem.room.resources[each]).words for each in scarce)
    return f" ({names})" if names else ""


def _describe(problem: NestedProblem, reason: LevelReason) -> Shortage:
    """Return a shortage that names the groups without whose labels the tree has places, or else the whole level."""
    bound, lack = reason.bound, name_resources(problem, reason.resources)
    few = _find_few_domains(problem, bound, list(dict.fromkeys(bond.group for bond in reason.level)))
    if few is not None:
        return few
    named = list(dict.fromkeys(bond.group for bond in reason.bonds))
    labels = sorted({problem.domains.keys[bond.label] for bond in reason.bonds})
    where = f"level {bound.depth[named[0]] + 1} ({', '.join(labels)})"
    first = next((bond for bond in reason.bonds if bond in reason.alone), reason.bonds[0])
    others = [bound.names[number] for number in named if number != first.group]
    if not others or reason.alone.issuperset(reason.bonds):
        words, most = _describe_one(problem, bound, first.group)
        rest = f"; the same goes for {list_names(others)}" if others else ""
        return Shortage(where, f"{where}: {words}{lack}{rest}", most)
    groups = {bond.group for bond in reason.level}
    way = "there is no way" if reason.is_certain else "no way was found"
    own = "one domain"
    if any(bound.parent[each] >= 0 and bound.apart[int(bound.parent[each])] for each in groups):
        own = "a domain of its own"
    words = f"{where}: {way} to give each of its {len(groups)} groups {own} with room for all of it{lack}"
    if len(named) < len(groups):
        words += f"; there is one without the labels of {list_names([bound.names[each] for each in named])}"
    return Shortage(where, words, 0)


def list_names(names: Sequence[str]) -> str:
    """Return names as a list for people: "a, b, and 3 more"."""
    listed = [*names[:NAMED], f"{len(names) - NAMED} more"] if len(names) > NAMED + 1 else [*names]
    return " and ".join(listed) if len(listed) < 3 else f"{', '.join(listed[:-1])}, and {listed[-1]}"


def _describe_one(problem: NestedProblem, group: LinkedGroup, number: int) -> tuple[str, int]:
    """Return in words what a group needs and what there is, and how many of its tasks fit."""
    size = count_tasks(group, number)
    pods, name = format_number(size, "pod"), group.names[number]
    most, value = min(
        (count_in_domain(problem, group, number, key) for key in group.within[number]), default=(0, "")
    )
    if value:
        words = f"group {name} runs in {value}, and needs room there for its {pods}, which takes"
        return f"{words} {min(most, size)}", most
    words = f"group {name} needs one domain with room for its {pods}"
    if most >= size:
        rest = "but its groups fit into none" if group.children[number] else "but other groups leave it none"
        return f"{words}, {rest}", most
    return f"{words}, the roomiest takes {most}", most


def _find_few_domains(problem: NestedProblem, group: LinkedGroup, level: Sequence[int]) -> Shortage | None:
    """Return the shortage of a label with fewer domains than a group has groups that must be apart, or None."""
    for parent in sorted({int(group.parent[number]) for number in level}):
        if parent < 0 or not group.apart[parent]:
            continue
        inside = [number for number in level if group.parent[number] == parent and count_tasks(group, number)]
        wanted = len(inside) - (len(group.children[parent]) - int(group.least[parent]))
        for key in sorted({key for number in inside for key in group.within[number]}):
            code = problem.domains.code[key]
            there = len(np.unique(code[code >= 0]))
            if all(key in group.within[number] for number in inside) and there < wanted:
                where = f"level {group.depth[level[0]] + 1} ({problem.domains.keys[key]})"
                words = f"{format_number(wanted, 'group')} of {group.names[parent]} must each have a domain of its own"
                return Shortage(where, f"{where}: {words}, and there {_count_are(there)}", 0)
    return None


def _count_are(count: int) -> str:
    return f"is {count}" if count == 1 else f"are {count}"
