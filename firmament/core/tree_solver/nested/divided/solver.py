"""Places a tree of groups, with or without divisions, or says why it has no places."""

from __future__ import annotations

from firmament.core.tree_solver.nested.divided.explanation import explain_divisions
from firmament.core.tree_solver.nested.divided.search import DividedSearch
from firmament.core.tree_solver.nested.problem import NestedProblem
from firmament.core.tree_solver.nested.search import NestedPlaces, SearchSteps
from firmament.core.tree_solver.nested.solver import NO_PLACES, solve_nested
from firmament.core.tree_solver.tree import Shortage


def solve_tree(
    problem: NestedProblem, steps: SearchSteps, *, explain: bool = True
) -> NestedPlaces | Shortage:
    """Return places for a tree, or why it has none; like `solve_nested`, but for trees with divisions, too."""
    if not problem.group.divided:
        return solve_nested(problem, steps, explain=explain)
    found, _ = DividedSearch(problem).find_places(steps)
    if found is not None:
        return found
    return explain_divisions(problem, steps) if explain else NO_PLACES
