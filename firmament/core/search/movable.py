"""Finds tasks that a search may move without regard to other tasks, and why all other tasks must stay."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.problem import PlacementProblem
from firmament.core.search.driver import Unsupported

UNBOUNDED = 2**40
"""More tasks than there are: a ledger with so much left for a shape does not limit the shape."""


def find_staying(problem: PlacementProblem, *, sharing: bool) -> dict[Unsupported, Bool]:
    """Return which classes must stay on their machines, by reason: bool[C].

    ``sharing``: whether tasks that use joint rows or quotas shared by several machines must stay as well.
    """
    staying = {
        Unsupported.RULES: _mark(problem, list(problem.rules.of)),
        Unsupported.PAIRS: problem.pairs.find_paired(problem.classes),
        Unsupported.GROUPS: problem.find_grouped(),
    }
    if problem.pins:
        staying[Unsupported.PINS] = _mark(problem, list(problem.pins))
    shared = [rows for rows in problem.joint if rows.shared] if sharing else []
    quotas = problem.quotas if sharing else None
    if problem.most or shared or quotas is not None:
        limited = _mark(problem, list(problem.most))
        if quotas is not None:
            limited |= quotas.draw[problem.shape] >= 0
        for rows in shared:
            limited |= rows.amount[problem.shape] > 0
        staying[Unsupported.LIMITS] = limited
    if problem.irrevocable:
        staying[Unsupported.LEDGERS] = _find_in_ledgers(problem, find_movable(problem, staying))
    return {reason: classes for reason, classes in staying.items() if classes.any()}


def find_movable(problem: PlacementProblem, staying: dict[Unsupported, Bool]) -> Bool:
    """Return which classes a search may move, because no reason in ``staying`` applies to them: bool[C]."""
    free = np.ones(problem.classes, dtype=np.bool_)
    for concerned in staying.values():
        free &= ~concerned
    return free


def _mark(problem: PlacementProblem, classes: list[int]) -> Bool:
    marked = np.zeros(problem.classes, dtype=np.bool_)
    marked[classes] = True
    return marked


def _find_in_ledgers(problem: PlacementProblem, free: Bool) -> Bool:
    """Return which of the ``free`` classes (bool[C]) use capacity of which a ledger keeps account: bool[C]."""
    shapes: Int64 = np.unique(problem.shape[free])
    kept = np.zeros(len(problem.requests), dtype=np.bool_)
    for shape, known_as in zip(shapes.tolist(), problem.map_to_ledgers(shapes).tolist(), strict=True):
        kept[shape] = any((ledger.count_room(known_as) < UNBOUNDED).any() for ledger in problem.ledgers)
    return kept[problem.shape]
