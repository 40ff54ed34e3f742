"""One random case: what the solver says against what exhaustive search says."""

from __future__ import annotations

from firmament.core.tree_solver.solver import ExactSolver
from firmament.core.tree_solver.tree import Shortage
from tests.firmament.core.tree_solver.cases import Case, random_case
from tests.firmament.core.tree_solver.exhaustive import best, keeps, later_first, leaf_paths, worth


def complaint(case: Case) -> str | None:
    """What is wrong with the solver's answer, None if nothing is."""
    solver = ExactSolver(case.choice)
    answer = solver.place(case.tree, case.slots, case.size, case.rules, case.cost, case.held)
    expected = best(case)
    if isinstance(answer, Shortage):
        if not answer.message:
            return "no reason given"
        return None if expected is None else f"gave up ({answer.message}), possible: {expected}"
    counts, paths = answer.tolist(), leaf_paths(case)
    if expected is None or not keeps(case.rules, paths, counts):
        return f"{counts} bends a strict rule"
    if sum(counts) != case.size or (answer < case.held).any() or (answer > case.held + case.slots).any():
        return f"{counts} is not a placement"
    if late := later_first(case, paths, counts):
        return f"{counts}: {late} holds more than an earlier unit that is just like it"
    found = worth(case, paths, counts)
    return None if found == expected else f"{counts} is worth {found}, the best {expected}"


def check(number: int) -> tuple[bool, str | None]:
    """Whether the case of a number can be solved, and what is wrong with the answer."""
    case = random_case(number)
    return best(case) is not None, complaint(case)
