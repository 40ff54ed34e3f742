"""Sums over a tree of groups: counts the tasks of each group together with those of the groups in it."""

from __future__ import annotations

from collections.abc import Sequence

from firmament.core.tree_solver.nested.trees import LinkedGroup


def sum_by_shape(group: LinkedGroup, shape_of: Sequence[int], counts: Sequence[int]) -> list[dict[int, int]]:
    """Return for each group the number of its tasks by shape, with those of the groups in it.

    A *part* is the tasks of one class in one group. ``shape_of``: each part's shape; ``counts``: each part's number of
    tasks.
    """
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
