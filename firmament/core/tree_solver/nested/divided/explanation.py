"""Says why a tree of groups with divisions has no places: the level whose rule cannot be kept, and what it lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from firmament.core.reasons import format_number
from firmament.core.tree_solver.nested.divided.members import FoundMembers
from firmament.core.tree_solver.nested.divided.profiles import DomainRoom, iterate_profiles
from firmament.core.tree_solver.nested.divided.search import DividedSearch
from firmament.core.tree_solver.nested.kinds import describe_marked, number_alike
from firmament.core.tree_solver.nested.problem import STEPS, NestedProblem
from firmament.core.tree_solver.nested.search import SearchSteps
from firmament.core.tree_solver.nested.shortages.explanation import list_names
from firmament.core.tree_solver.nested.shortages.level_reasons import count_tests
from firmament.core.tree_solver.nested.shortages.smallest_sets import SmallestSet, find_smallest_set
from firmament.core.tree_solver.nested.solver import solve_nested
from firmament.core.tree_solver.nested.trees import Division, LinkedGroup
from firmament.core.tree_solver.tree import Rule, Shortage, limits

TESTS = 16
"""Most tests of sets of rules of a level; each test divides the whole tree."""
EXPLAINED = 64
"""A message says what is lacking if a group may get at most this many different numbers of members."""
NAMED_ROOMS = 4
"""Most domains for which a message says how much they can take."""


def explain_divisions(problem: NestedProblem, steps: SearchSteps) -> Shortage:
    """Return why a tree of groups with divisions finds no places.

    If the tree finds no places without any division either, the reason is that of this search. If the tree finds
    places without divisions, the rules are added level by level, from the tasks up; the first level that leaves no
    placement is named.
    """
    group, room = problem.group, problem.room
    mark = room.mark()
    plain = solve_nested(replace(problem, group=replace(group, divided=())), steps)
    room.undo(mark)
    if isinstance(plain, Shortage):
        return plain
    active: list[Division] = []
    for level in _list_levels(group):
        active += level
        placed, certain = _try_with(problem, active)
        if not placed:
            return _blame(problem, active, level, certain=certain)
    # With all rules the last search found places, so the first search failed only because of the limit on steps.
    return Shortage("", "no way was found to divide its groups by their rules", 0)


def _list_levels(group: LinkedGroup) -> list[list[Division]]:
    """Return the divisions level by level, from the tasks up.

    On each level, those over the first label of each group come first.
    """
    levels: dict[tuple[int, int], list[Division]] = {}
    before = Counter[int]()
    for each in group.divided:
        levels.setdefault((-group.depth[each.group], before[each.group]), []).append(each)
        before[each.group] += 1
    return [level for _, level in sorted(levels.items(), key=lambda found: found[0])]


def _find_above(group: LinkedGroup, division: Division) -> Division | None:
    """Return the division of the same group that comes before this one, None if it is the first."""
    own = [each for each in group.divided if each.group == division.group]
    place = own.index(division)
    return own[place - 1] if place else None


def _try_with(problem: NestedProblem, divisions: Sequence[Division]) -> tuple[bool, bool]:
    """Return whether a tree with ``divisions`` alone finds places; if it finds none, also whether that is certain."""
    mark = problem.room.mark()
    if not divisions:
        return True, True  # the tree without divisions has places
    posed = replace(problem, group=replace(problem.group, divided=tuple(divisions)), hints={})
    found, certain = DividedSearch(posed).find_places(SearchSteps(STEPS))
    problem.room.undo(mark)
    return found is not None, certain


def _blame(
    problem: NestedProblem, active: Sequence[Division], level: Sequence[Division], *, certain: bool
) -> Shortage:
    """Return a shortage that names the smallest set of rules without which the tree has places, or else the level."""
    group, domains = problem.group, problem.domains
    named = [level[each] for each in _find_rules(problem, active, level).members]
    labels = ", ".join(sorted({domains.keys[each.label] for each in named}))
    where = f"level {group.depth[level[0].group] + 1} ({labels})"
    alone_in = (replace(problem, group=replace(group, divided=(each,))) for each in named)
    found = [DividedSearch(each).found[0] for each in alone_in]
    lacks = [_explain_lack(problem, each, members) for each, members in zip(named, found, strict=True)]
    alone = next((at for at, lack in enumerate(lacks) if lack), 0 if len(named) == 1 else -1)
    way = "there is no way" if certain else "no way was found"
    if alone < 0:
        words = f"{where}: {way} to divide its {len(level)} groups by their rules"
        if len(named) < len(level):
            without = list_names([group.names[each.group] for each in named])
            words += f"; there is one without the rules of {without}"
        return Shortage(where, words, 0)
    rest = lacks[alone] or f"{way} to do so together with the other groups"
    if len(named) > 1:
        others = [group.names[each.group] for each in named if each != named[alone]]
        rest += f"; the rules of {list_names(others)} stand in the way, too"
    name, demand = group.names[named[alone].group], _describe(problem, named[alone], found[alone])
    return Shortage(where, f"{where}: group {name} must have {demand}; {rest}", 0)


def _find_rules(problem: NestedProblem, active: Sequence[Division], level: Sequence[Division]) -> SmallestSet:
    """Return the smallest set of rules of a level (indices in it) without which the tree has places."""
    group, looks = problem.group, number_alike(problem.group, problem.shape_of)

    def helps(dropped: Sequence[int]) -> bool:
        gone = [level[each] for each in dropped]
        return _try_with(problem, [each for each in active if each not in gone])[0]

    def describe(dropped: Sequence[int]) -> tuple[object, ...]:
        return describe_marked(group, looks, {level[each].group: [0] for each in dropped})

    tests = max(1, min(TESTS, count_tests(group)))
    return find_smallest_set(len(level), helps, describe, tests)


def _count_members(found: FoundMembers) -> int:
    return sum(found.members.waiting) + sum(found.members.held.values())


def _describe(problem: NestedProblem, division: Division, found: FoundMembers) -> str:
    """Return what a rule demands, for people: "its 8 pods in exactly 2 domains, 2 to 4 in each"."""
    rule, of_groups = division.rule, bool(problem.group.children[division.group])
    one = "group" if of_groups else "pod"
    above = _find_above(problem.group, division)
    where = "" if above is None else f" within each domain of {problem.domains.keys[above.label]}"
    return (
        f"its {format_number(_count_members(found), one)} {describe_rule(rule, of_groups=of_groups)}{where}"
    )


def describe_rule(rule: Rule, *, of_groups: bool) -> str:
    """Return what a rule demands of the members of a group, for people: "in exactly 2 domains, 2 to 4 in each"."""
    if rule.hard:
        return "in domains of their own"
    demands = []
    if rule.partitions:
        demands.append(f"exactly {format_number(rule.partitions, 'domain')}")
    if rule.most:
        many = f"{rule.least}" if rule.least == rule.most else f"{rule.least} to {rule.most}"
        demands.append(f"{many} in each" if demands else f"domains with {many} in each")
    if rule.factor > 1:
        demands.append(
            f"a multiple of {rule.factor} in each"
            if demands
            else f"domains with a multiple of {rule.factor} in each"
        )
    if not demands:
        return "each in one domain" if of_groups else "in domains"
    return f"in {', '.join(demands)}"


def _explain_lack(problem: NestedProblem, division: Division, found: FoundMembers) -> str:
    """Return why the members of one group cannot be divided, even without the other groups; "" if they could be."""
    if _find_above(problem.group, division) is not None:
        return ""
    members, count = found.members, _count_members(found)
    held = tuple(members.held.values())
    code = problem.domains.code[division.label]
    there = len(np.unique(code[code >= 0]))
    numbers = range(max(members.least, sum(held), 1), count + 1)
    if not 0 < len(numbers) <= EXPLAINED:
        return ""

    def is_possible(rooms: Sequence[DomainRoom]) -> bool:
        rule = division.rule
        return any(next(iterate_profiles(limits(rule), True, total, rooms), ()) for total in numbers)

    if not is_possible([DomainRoom(held, (count,) * len(held), (count,) * count)]):
        range_ = f"{numbers[0]} to {count}" if len(numbers) > 1 else f"{count}"
        return f"no such numbers add up to {range_}"
    if not is_possible([DomainRoom(held, (count,) * len(held), (count,) * max(0, there - len(held)))]):
        return f"there {'is' if there == 1 else 'are'} {format_number(there, 'domain')}"
    if not is_possible(members.rooms):
        best = max(members.rooms, key=lambda room: sum(room.most) + sum(room.held_most))
        rooms = sorted((*best.held_most, *best.most), reverse=True)
        words = ", ".join(map(str, rooms[:NAMED_ROOMS])) or "none"
        return (
            f"the roomiest domains take {words}" if len(rooms) > 1 else f"the roomiest domain takes {words}"
        )
    return ""
