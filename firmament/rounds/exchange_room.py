"""What keeps tasks of a placement from changing places: rules, resources, joint rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.flow.heights import entries
from firmament.flow.problem import Assignments, PlacementProblem

ANY = np.iinfo(np.int64).max // 4
"""Room on what is not limited; no sum of amounts reaches it."""

UNBOUNDED = 2**40
"""More tasks than there are: a ledger that says so keeps no book of a shape."""


def movable(problem: PlacementProblem) -> Bool:
    """bool[C]: classes whose tasks may change places without regard to other tasks, limits on amounts apart.

    Not those with rules about others or of which others have rules, nor those of pairs, of groups over a tree, pinned
    ones, and those for which a ledger keeps books.
    """
    free = np.ones(problem.classes, dtype=np.bool_)
    if problem.rules is not None:
        free[list(problem.rules.of)] = False
    if problem.pairs is not None:
        free &= problem.pairs.kind < 0
    if problem.topology is not None and len(problem.gang):
        free &= ~np.isin(problem.gang, list(problem.topology.groups))
    free[list(problem.pins)] = False
    free[list(problem.most)] = False
    if problem.ledgers:
        shapes = np.unique(problem.shape[free])
        kept = np.zeros(len(problem.requests), dtype=np.bool_)
        for shape, known_as in zip(shapes.tolist(), problem.known_as(shapes).tolist(), strict=True):
            kept[shape] = any((ledger.room(known_as) < UNBOUNDED).any() for ledger in problem.ledgers)
        free &= ~kept[problem.shape]
    return free


class ExchangeRoom:
    """What a placement leaves of each machine, by resource and by joint row of single machines."""

    def __init__(self, problem: PlacementProblem, placed: Assignments) -> None:
        self._problem = problem
        amounts, left = list(problem.requests.T), list(problem.free.T)
        self._shared = []
        for rows in problem.joint:
            if rows.shared:
                self._shared.append(rows)
                continue
            on_row = rows.row_of >= 0
            room = np.full(problem.machines, ANY)
            room[on_row] = rows.limit[rows.row_of[on_row]]
            amounts.append(rows.amount)
            left.append(room)
        shapes = problem.shape[placed.cls]
        differ = [each for each, amount in enumerate(amounts) if (amount != amount[0]).any()]
        # One row per limit that sizes matter to: int64[K, S] and int64[K, M].
        self._amounts = _stacked([amounts[each] for each in differ], len(problem.requests))
        self._left = _stacked([left[each] for each in differ], problem.machines)
        for amount, room in zip(self._amounts, self._left, strict=True):
            np.subtract.at(room, placed.machine, amount[shapes] * placed.count)

    def allows(self, large: Int64, small: Int64, source: Int64, target: Int64) -> Bool:
        """bool[P]: whether a task of shape ``large[i]`` on ``source[i]`` and one of ``small[i]`` on ``target[i]`` may
        change places. Each by itself: no machine twice.
        """
        feasible = self._problem.feasible
        allowed: Bool = entries(feasible, large, target) & entries(feasible, small, source)
        for amount, left in zip(self._amounts, self._left, strict=True):
            moved = amount.take(large) - amount.take(small)
            # Where there is too little already, less may still come for more.
            allowed &= np.maximum(left.take(target), 0) >= moved
            allowed &= np.maximum(left.take(source), 0) >= -moved
        for rows in self._shared:
            # How others use a row that machines share is not known here: what it holds must not change.
            allowed &= (rows.amount[large] == rows.amount[small]) | (
                rows.row_of[source] == rows.row_of[target]
            )
        return allowed

    def exchange(self, large: Int64, small: Int64, source: Int64, target: Int64) -> None:
        """Book exchanges that were allowed."""
        for amount, left in zip(self._amounts, self._left, strict=True):
            moved = amount.take(large) - amount.take(small)
            left[source] += moved
            left[target] -= moved


def _stacked(rows: Sequence[Int64], width: int) -> Int64:
    """Copies of ``rows``, each int64[width]: int64[len(rows), width]."""
    return np.stack(rows) if rows else np.zeros((0, width), dtype=np.int64)
