"""Tells which groups over a tree of machines need equal places, so that one search serves for all of them."""

from __future__ import annotations

import numpy as np

from firmament.core.flow.problem import PlacementProblem
from firmament.core.tree_solver.groups import AnyGroup
from firmament.core.tree_solver.nested.trees import NestedGroup


def describe_needs(problem: PlacementProblem, group: AnyGroup) -> tuple[object, ...]:
    """Return a key that is equal for groups of a problem that need equal places."""
    if isinstance(group, NestedGroup):
        parts = zip(group.part_class.tolist(), group.part_count.tolist(), strict=True)
        return (
            *group.make_key(),
            *(each for cls, count in parts for each in problem.make_key([cls], [count])),
        )
    classes, counts = np.unique(group.order, return_counts=True)
    alike = problem.make_key(classes.tolist(), counts.tolist())
    return (group.size, group.rules, group.held.tobytes(), *alike)
