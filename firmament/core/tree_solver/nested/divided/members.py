"""Finds the members of a group that is divided over domains, and how many of them each domain can take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.core.tree_solver.nested.counts import sum_by_shape
from firmament.core.tree_solver.nested.divided.choices import MemberCounts
from firmament.core.tree_solver.nested.divided.profiles import DomainRoom
from firmament.core.tree_solver.nested.kinds import number_alike
from firmament.core.tree_solver.nested.room import NestedRoom
from firmament.core.tree_solver.nested.trees import Division, LinkedGroup, NestedDomains

PLACES = 64
"""Most places for which a group's members are counted.

A place is a combination of domains of the group's labels and of the labels of groups above it.
"""

MANY_PLACES = 100_000
"""Limit on the numbers of places; above it, places are numbered anew."""


@dataclass(frozen=True, slots=True)
class FoundMembers:
    """The members of a group that is divided over domains.

    ``kinds``: for each kind, the members that wait: one part of tasks, or equal groups. ``held``: by domain, the groups
    that are there already, if the members are groups; ``stuck``: those of them that lack members.
    """

    members: MemberCounts
    kinds: tuple[tuple[int, ...], ...]
    held: Mapping[int, tuple[int, ...]]
    stuck: frozenset[int]


def find_members(
    group: LinkedGroup,
    division: Division,
    domains: NestedDomains,
    room: NestedRoom,
    shape_of: Sequence[int],
    completable: Sequence[bool],
) -> FoundMembers:
    """Return the members of a group; ``completable``: for each group, whether it has, or waits for, what it needs."""
    number, code = division.group, domains.code[division.label]
    kinds: list[tuple[int, ...]]
    held: dict[int, tuple[int, ...]] = {}
    if group.children[number]:
        demand = sum_by_shape(group, shape_of, group.part_count.tolist())
        alike: dict[int, list[int]] = {}
        there: dict[int, list[int]] = {}
        looks = number_alike(group, shape_of)
        for child in group.children[number]:
            if group.held[child]:
                codes = code[list(group.held[child])]
                if (codes >= 0).any():
                    there.setdefault(int(np.bincount(codes[codes >= 0]).argmax()), []).append(child)
            elif completable[child] and any(demand[child].values()):
                alike.setdefault(looks[child], []).append(child)
        held = {domain: tuple(found) for domain, found in sorted(there.items())}
        count_held = {domain: len(found) for domain, found in held.items()}
        kinds = [tuple(found) for found in alike.values()]
        waiting = tuple(map(len, kinds))
        needs = [{} if _is_elastic(group, found[0]) else demand[found[0]] for found in kinds]
    else:
        codes = code[list(group.held[number])]
        count_held = dict(sorted(Counter(codes[codes >= 0].tolist()).items()))
        kinds = [(part,) for part in group.parts[number] if group.part_count[part]]
        waiting = tuple(int(group.part_count[part]) for (part,) in kinds)
        needs = [{shape_of[part]: 1} for (part,) in kinds]
        useless = int((code[group.asked_machine[group.asked_group == number]] >= 0).sum())
    found_rooms = (
        _find_room(room, code, where, count_held, waiting, needs)
        for where in _list_places(group, number, domains)
    )
    rooms = tuple(dict.fromkeys(found_rooms))
    stuck = frozenset(each for found in held.values() for each in found if not completable[each])
    # Tasks that are to leave, and groups that lack members, occupy domains, but the group needs other members instead.
    needed = int(group.least[number]) + (len(stuck) if group.children[number] else useless)
    return FoundMembers(MemberCounts(waiting, count_held, needed, rooms), tuple(kinds), held, stuck)


def _is_elastic(group: LinkedGroup, number: int) -> bool:
    """Return whether a group without tasks on machines, or a group in it, needs fewer members than it has."""
    inside = group.children[number]
    there = len(inside) or sum(group.part_count[list(group.parts[number])].tolist())
    return bool(group.least[number] < there) or any(_is_elastic(group, child) for child in inside)


def _list_places(group: LinkedGroup, number: int, domains: NestedDomains) -> list[Int64]:
    """Return the machines of each place for a group: domains of its labels, and of those of groups above it."""
    allowed = np.ones(domains.code.shape[1], dtype=np.bool_)
    keys: dict[int, None] = {}
    at = number
    while at >= 0:
        for key in group.within[at]:
            keys[key] = None
            held = domains.code[key][list(group.held[at])]
            held = held[held >= 0]
            allowed &= domains.code[key] >= 0
            if len(held):
                allowed &= domains.code[key] == np.bincount(held).argmax()
        at = int(group.parent[at])
    machines = np.flatnonzero(allowed)
    if not keys or not len(machines):
        return [machines]
    place = np.zeros(len(machines), dtype=np.int64)
    for key in keys:
        codes = domains.code[key][machines]
        place = place * (int(codes.max()) + 1) + codes
        if int(place.max()) > MANY_PLACES:
            place = np.unique(place, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(place)
    largest = np.argsort(-sizes, kind="stable")[: min(PLACES, int((sizes > 0).sum()))]
    return [machines[place == each] for each in largest.tolist()]


def _find_room(
    room: NestedRoom,
    code: Int64,
    where: Int64,
    held: Mapping[int, int],
    waiting: Sequence[int],
    needs: Sequence[Mapping[int, int]],
) -> DomainRoom:
    """Return how many members the domains of a label can take at most on the machines ``where``.

    ``needs``: for each kind, the tasks of a member by shape; none for members that may have fewer.
    """
    codes = code[where]
    known = codes >= 0
    codes, machines = codes[known], where[known]
    domains = max([*held, int(codes.max(initial=-1))], default=-1) + 1
    most = np.zeros(domains, dtype=np.int64)
    present = np.bincount(codes, minlength=domains) > 0
    for count, need in zip(waiting, needs, strict=True):
        able = np.where(present, count, 0)
        for shape, tasks in need.items():
            slots = np.minimum(room.slots[shape, machines], count * tasks)
            able = np.minimum(able, np.bincount(codes, slots, domains).astype(np.int64) // max(tasks, 1))
        most += able
    others = np.delete(most, list(held))
    return DomainRoom(
        held=tuple(held.values()),
        held_most=tuple(count + int(most[domain]) for domain, count in held.items()),
        most=tuple(np.sort(others[others > 0])[::-1].tolist()),
    )
