"""Which groups need equal places."""

from __future__ import annotations

import numpy as np

from firmament.core.flow.problem import PlacementProblem
from firmament.core.tree_solver.groups import AnyGroup
from firmament.core.tree_solver.nested.trees import NestedGroup


def describe_needs(problem: PlacementProblem, group: AnyGroup) -> tuple[object, ...]:
    """Return a key that is equal for groups of a problem that need equal places."""
    if isinstance(group, NestedGroup):
        parts = zip(group.part_class.tolist(), group.part_count.tolist(), strict=True)
        return (*group.looks(), *(each for cls, count in parts for each in problem.looks([cls], [count])))
    classes, counts = np.unique(group.order, return_counts=True)
    alike = problem.looks(classes.tolist(), counts.tolist())
    return (group.size, group.rules, group.held.tobytes(), *alike)
