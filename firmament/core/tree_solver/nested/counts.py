"""Sums over a tree of groups: what each group has of tasks, those in the groups in it included."""

from __future__ import annotations

from collections.abc import Sequence

from firmament.core.tree_solver.nested.trees import LinkedGroup


def sum_by_shape(group: LinkedGroup, shape_of: Sequence[int], counts: Sequence[int]) -> list[dict[int, int]]:
    """Return by group how many tasks of each shape it and those in it have, of ``counts`` of each part."""
    total: list[dict[int, int]] = [{} for _ in group.names]
    for number in reversed(range(len(total))):
        own = total[number]
        for part in group.parts[number]:
            own[shape_of[part]] = own.get(shape_of[part], 0) + counts[part]
        parent = int(group.parent[number])
        if parent >= 0:
            for shape, count in own.items():
                total[parent][shape] = total[parent].get(shape, 0) + count
    return total


def find_whole(group: LinkedGroup, have: Sequence[int]) -> list[bool]:
    """Return by group whether it has what it needs, with ``have`` tasks of its own in each."""
    whole = [False] * len(group.names)
    for number in reversed(range(len(whole))):
        inside = group.children[number]
        count = sum(whole[child] for child in inside) if inside else have[number]
        whole[number] = count >= int(group.least[number])
    return whole
