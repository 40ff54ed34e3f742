"""What keeps tasks of a placement from changing places: rules, resources, joint rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cost_models.interface import Bool, Int64, JointRows
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.terms import entries

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
    """What a placement leaves of each of the machines ``used`` (int64[U]), by resource and by joint row of single
    machines.

    Pairs of machines are int64[2, P], numbers in ``used``; ``shapes``, int64[2, P], those of the tasks there that are
    to change places.
    """

    def __init__(self, problem: PlacementProblem, placed: Assignments, used: Int64) -> None:
        self._problem = problem
        self._used = used
        number = np.full(problem.machines, -1)
        number[used] = np.arange(len(used))
        machine = number.take(placed.machine)
        there = np.flatnonzero(machine >= 0)
        machine, count = machine.take(there), placed.count.take(there)
        shapes = problem.shape.take(placed.cls.take(there))
        tasks = np.zeros(len(used), dtype=np.int64)
        np.add.at(tasks, machine, count)
        self._shared = [rows for rows in problem.joint if rows.shared]
        alone = [rows for rows in problem.joint if not rows.shared]
        self._limits: list[tuple[Int64, Int64]] = []
        for amount, left in _limits(problem, alone, used):
            taken = amount.take(shapes)
            np.subtract.at(left, machine, taken * count)
            # Where all tasks could become the largest, exchanges never lack room.
            if (left // tasks < taken.max() - taken.min()).any():
                self._limits.append((amount, left))

    def allows(self, shapes: Int64, machines: Int64) -> Bool:
        """bool[P]: whether the tasks of each pair may change places. Each by itself: no machine twice."""
        rows = self._used.take(machines)
        allowed: Bool = np.logical_and(*entries(self._problem.feasible, shapes[::-1], rows))
        for amount, left in self._limits:
            # Where there is too little already, less may still come for more.
            allowed &= (np.maximum(left.take(machines), 0) >= _more(amount, shapes)).all(axis=0)
        for joint in self._shared:
            # How others use a row that machines share is not known here: what it holds must not change.
            amounts, row = joint.amount.take(shapes), joint.row_of.take(rows)
            allowed &= (amounts[0] == amounts[1]) | (row[0] == row[1])
        return allowed

    def exchange(self, shapes: Int64, machines: Int64) -> None:
        """Book exchanges that were allowed."""
        for amount, left in self._limits:
            left[machines] -= _more(amount, shapes)


def _limits(
    problem: PlacementProblem, joint: Sequence[JointRows], used: Int64
) -> Iterator[tuple[Int64, Int64]]:
    """Yield what a task of each shape takes, int64[S], and what there is on machines, int64[U], of each resource and of
    ``joint`` rows.
    """
    yield from zip(problem.requests.T, np.ascontiguousarray(problem.free.take(used, axis=0).T), strict=True)
    for rows in joint:
        if len(rows.limit):
            row = rows.row_of.take(used)
            yield rows.amount, np.where(row >= 0, rows.limit.take(row), ANY)


def _more(amount: Int64, shapes: Int64) -> Int64:
    """int64[2, P]: how much more machines hold once their tasks have changed places; ``amount``: int64[S]."""
    of_both = amount.take(shapes)
    more: Int64 = of_both[::-1] - of_both
    return more
