"""Finds which groups, and which domains, are alike, so that results for one hold for the others."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.tree_solver.nested.room import NestedRoom
from firmament.core.tree_solver.nested.trees import LinkedGroup, NestedDomains


def number_kinds(
    group: LinkedGroup, keys: Sequence[Sequence[int]], shape_of: Sequence[int], counts: Sequence[int]
) -> list[int]:
    """Return the kind of each group: a number equal for groups that are alike, with the groups in them.

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


def list_parts(group: LinkedGroup, number: int) -> list[int]:
    """Return the parts of a group and of the groups in it; in the same order for groups of one kind."""
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
    """Return a key that is equal for domains with the same room for ``shapes``, and with the same domains in them."""
    codes = []
    for code in domains.code[:, machines]:
        _, order = np.unique(code, return_inverse=True)
        codes.append(order.tobytes() + (code < 0).tobytes())
    slots = room.slots[list(shapes)][:, machines]
    return len(machines), room.free[:, machines].tobytes(), slots.tobytes(), *codes
