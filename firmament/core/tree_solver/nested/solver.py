"""Places a tree of groups without divisions, or says why it has no places."""

from __future__ import annotations

from firmament.core.tree_solver.nested.problem import STEPS, NestedProblem
from firmament.core.tree_solver.nested.search import NestedPlaces, SearchSteps
from firmament.core.tree_solver.nested.shortages.explanation import explain_shortage
from firmament.core.tree_solver.tree import Shortage

NO_PLACES = Shortage("", "no places were found", 0)
"""The answer if the caller does not need the reason."""


def solve_nested(
    problem: NestedProblem, steps: SearchSteps, *, explain: bool = True
) -> NestedPlaces | Shortage:
    """Return places for a tree of groups, or why it has none.

    ``steps``: the steps that are left in the round; ``explain``: if False, `NO_PLACES` stands for any reason.
    """
    given = SearchSteps(max(min(STEPS, steps.left), 4 * len(problem.group.names)))
    before = given.left
    found = problem.find_places(given)
    steps.left -= before - given.left
    if found is not None:
        return found
    return explain_shortage(problem, steps) if explain else NO_PLACES
