"""Finds which groups, and which domains, are alike, so that results for one hold for all of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.tree_solver.nested.room import NestedRoom
from firmament.core.tree_solver.nested.trees import LinkedGroup, NestedDomains


def number_kinds(
    group: LinkedGroup, keys: Sequence[Sequence[int]], shape_of: Sequence[int], counts: Sequence[int]
) -> list[int]:
    """Return the kind of each group: a number that is equal for groups that are alike, with the groups in them.

    ``keys``: the labels of each group; ``counts``: the tasks of each part. A group with tasks on machines has a kind of
    its own.
    """
    known: dict[Hashable, int] = {}
    kinds = [0] * len(group.names)
    for number in reversed(range(len(kinds))):
        tasks = tuple((shape_of[part], counts[part]) for part in group.parts[number])
        inside = tuple(kinds[child] for child in group.children[number])
        own = number if group.held[number] else -1
        look = (tuple(keys[number]), group.apart[number], tasks, inside, own)
        kinds[number] = known.setdefault(look, len(known))
    return kinds


def number_alike(group: LinkedGroup, shape_of: Sequence[int]) -> list[int]:
    """Return a number for each group; it is equal if rules, needs and tasks are, also those of the groups inside.

    A group with tasks on machines gets a number that no other group has.
    """
    known: dict[Hashable, int] = {}
    looks = [0] * len(group.names)
    divided: dict[int, list[Hashable]] = {}
    for each in group.divided:
        divided.setdefault(each.group, []).append((each.label, each.rule))
    for number in reversed(range(len(looks))):
        tasks = tuple((shape_of[part], int(group.part_count[part])) for part in group.parts[number])
        inside = tuple(looks[child] for child in group.children[number])
        rules = (*divided.get(number, ()),)
        own = (group.within[number], group.rather_within[number], group.apart[number], rules)
        place = number if group.held[number] else -1
        look = (int(group.least[number]), own, tasks, inside, place)
        looks[number] = known.setdefault(look, len(known))
    return looks


def describe_marked(
    group: LinkedGroup, looks: Sequence[int], marks: Mapping[int, Sequence[int]]
) -> tuple[object, ...]:
    """Return a key that is equal for two ``marks`` (numbers by group) that differ only by exchanging alike groups.

    Groups with equal ``looks`` are alike.
    """
    below: dict[int, list[tuple[object, ...]]] = {}
    todo = {number for number, own in marks.items() if own}
    for number in list(todo):
        while (number := int(group.parent[number])) >= 0:
            todo.add(number)
    for number in sorted(todo, reverse=True):
        inside = tuple(sorted(below.get(number, ())))
        look = (looks[number], tuple(sorted(marks.get(number, ()))), inside)
        below.setdefault(int(group.parent[number]), []).append(look)
    return tuple(sorted(below.get(-1, ())))


def list_parts(group: LinkedGroup, number: int) -> list[int]:
    """Return the parts of a group and of the groups in it; groups of one kind have their parts in the same order."""
    found: list[int] = []
    todo = [number]
    while todo:
        each = todo.pop()
        found += group.parts[each]
        todo += reversed(group.children[each])
    return found


def describe_domain(
    domains: NestedDomains, room: NestedRoom, shapes: Sequence[int], machines: Int64
) -> Hashable:
    """Return a key that is equal for domains that hold the same of ``shapes`` and contain the same domains."""
    codes = []
    for code in domains.code[:, machines]:
        _, order = np.unique(code, return_inverse=True)
        codes.append(order.tobytes() + (code < 0).tobytes())
    slots = room.slots[list(shapes)][:, machines]
    return len(machines), room.free[:, machines].tobytes(), slots.tobytes(), *codes
