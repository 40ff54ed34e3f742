"""Places a tree of groups, with or without divisions, or says why it has no places."""

from __future__ import annotations

from firmament.core.tree_solver.nested.divided.explanation import explain_divisions
from firmament.core.tree_solver.nested.divided.search import DividedSearch
from firmament.core.tree_solver.nested.search import NestedPlaces, SearchSteps
from firmament.core.tree_solver.nested.solver import NestedProblem, solve_nested
from firmament.core.tree_solver.tree import Shortage


def solve_tree(problem: NestedProblem, steps: SearchSteps) -> NestedPlaces | Shortage:
    """Return places for a tree, or why it has none; ``steps``: those left in the round."""
    if not problem.group.divided:
        return solve_nested(problem, steps)
    found, _ = DividedSearch(problem).find_places(steps)
    return explain_divisions(problem, steps) if found is None else found
