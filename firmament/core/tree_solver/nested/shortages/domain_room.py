"""Counts how many tasks of a tree's groups fit, whatever the rules of other groups say."""

from __future__ import annotations

import numpy as np

from firmament.core.tree_solver.nested.problem import NestedProblem
from firmament.core.tree_solver.nested.trees import LinkedGroup


def count_placed(problem: NestedProblem, free: LinkedGroup) -> int:
    """Return how many tasks of the tree fit as if there were no groups, if the largest are placed first."""
    room, placed = problem.room, 0
    mark = room.mark()
    for part in sorted(range(len(problem.shape_of)), key=lambda part: -room.size[problem.shape_of[part]]):
        shape = problem.shape_of[part]
        slots = room.slots[shape]
        rows = np.argsort(slots, kind="stable")
        count = np.clip(free.part_count[part] - (np.cumsum(slots[rows]) - slots[rows]), 0, slots[rows])
        room.take(shape, rows[count > 0], count[count > 0])
        placed += int(count.sum())
    room.undo(mark)
    return placed


def _list_parts(group: LinkedGroup, number: int) -> list[int]:
    """Return the parts of a group and of the groups in it."""
    return [part for each in group.list_subtree(number) for part in group.parts[each]]


def count_tasks(group: LinkedGroup, number: int) -> int:
    """Return the number of tasks of a group and of the groups in it."""
    return int(group.part_count[_list_parts(group, number)].sum())


def count_in_domain(problem: NestedProblem, group: LinkedGroup, number: int, key: int) -> tuple[int, str]:
    """Return how many tasks of a group the best domain of a label takes, as if there were no groups in it.

    If the group has tasks on machines, only the domain with most of its tasks counts, and the value of that domain is
    returned, too; otherwise the value is "".
    """
    best, room, parts = 0, problem.room, _list_parts(group, number)
    code = problem.domains.code[key]
    held = code[list(group.held[number])]
    held = held[held >= 0]
    values = [int(np.bincount(held).argmax())] if len(held) else np.unique(code[code >= 0]).tolist()
    for value in values:
        inside = np.flatnonzero(code == value)
        mark, placed = room.mark(), 0
        for part in sorted(parts, key=lambda part: -room.size[problem.shape_of[part]]):
            slots = room.slots[problem.shape_of[part], inside]
            count = np.clip(group.part_count[part] - (np.cumsum(slots) - slots), 0, slots)
            room.take(problem.shape_of[part], inside[count > 0], count[count > 0])
            placed += int(count.sum())
        room.undo(mark)
        best = max(best, placed)
    return best, problem.domains.values[key][values[0]] if len(held) else ""
