"""Room on the machines of a finished placement, while its tasks move about or change places: who may, what is free, and
how many tasks each machine has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cost_models.interface import Bool, Int64, JointRows
from firmament.core.constraints.model_limits import JointRoom
from firmament.core.flow.problem import UNLIMITED, Assignments, PlacementProblem
from firmament.core.flow.terms import entries
from firmament.core.ranks import before_in_runs, order_by, places_in, runs


class MovingRoom:
    """What a placement leaves; ``placed``: int64[M], tasks of the round on each machine.

    For classes that ``stays`` does not name: ledgers keep no books of them, and no machines share their joint rows.
    """

    def __init__(self, problem: PlacementProblem, placed: Assignments) -> None:
        self._problem = problem
        requested = np.flatnonzero(problem.requests.any(axis=0))
        self._requests: Int64 = problem.requests.T[requested]
        self._free: Int64 = problem.free.T[requested]
        self.placed: Int64 = np.zeros(problem.machines, dtype=np.int64)
        self._joint = [JointRoom.of(rows) for rows in problem.joint if len(rows.limit)]
        self._take(problem.shape[placed.cls], placed.machine, placed.count)

    def units(self, shapes: Int64, machines: Int64) -> Int64:
        """int64[A]: how many tasks of ``shapes[i]`` have room on ``machines[i]``, each by themselves."""
        units = np.full(len(shapes), np.iinfo(np.int64).max)
        for requests, free in zip(self._requests, self._free, strict=True):
            amount = requests.take(shapes)
            np.minimum(units, free.take(machines) // np.maximum(amount, 1), out=units, where=amount > 0)
        for joint in self._joint:
            joint.limit_units(units, shapes, machines)
        return np.where(self._problem.feasible[shapes, machines], np.maximum(units, 0), 0)

    def open_to_some(self, shapes: Int64) -> Bool:
        """bool[M]: machines with room for one more task as small as ``shapes`` are in each resource."""
        smallest = self._requests[:, shapes].min(axis=1, keepdims=True)
        return np.asarray((self._free >= smallest).all(axis=0))

    def open_to_all(self, shapes: Int64) -> Bool:
        """bool[M]: machines where each of ``shapes`` is sure to fit."""
        if self._joint:
            return np.zeros(self._problem.machines, dtype=np.bool_)
        largest = self._requests[:, shapes].max(axis=1, keepdims=True)
        fit: Bool = (self._free >= largest).all(axis=0)
        return fit if self._problem.feasible.all() else fit & self._problem.feasible[shapes].all(axis=0)

    def fits(self, shapes: Int64, machines: Int64) -> Bool:
        """Whether a task of ``shapes`` has room on ``machines``: bool[A]."""
        fits = self._problem.feasible[shapes, machines]
        for requests, free in zip(self._requests, self._free, strict=True):
            amount = requests.take(shapes)
            fits &= (amount <= free.take(machines)) | (amount == 0)
        units = np.ones(len(shapes), dtype=np.int64)
        for joint in self._joint:
            joint.limit_units(units, shapes, machines)
        return fits & (units > 0)

    def move(self, shapes: Int64, sources: Int64, targets: Int64) -> None:
        """Move one task per entry."""
        ones = np.ones(len(shapes), dtype=np.int64)
        self._take(shapes, sources, -ones)
        self._take(shapes, targets, ones)

    def overfilled(self, shapes: Int64, targets: Int64) -> Bool:
        """bool[A]: arrivals, in this order, that find no room if all those before them on their machine have come."""
        order = order_by(targets)
        starts, lengths = runs(targets[order])
        limits = list(zip(self._requests, self._free, strict=True))
        limits += [(joint.rows.amount, joint.per_machine(UNLIMITED)) for joint in self._joint]
        lacking = np.zeros(len(shapes), dtype=np.bool_)
        if not len(shapes):
            return lacking
        machines, shape = targets[order[starts]], shapes[order]
        doubtful = np.zeros(len(starts), dtype=np.bool_)
        for amounts, free in limits:
            doubtful |= np.add.reduceat(amounts.take(shape), starts) > free.take(machines)
        order, lengths = order[np.repeat(doubtful, lengths)], lengths[doubtful]
        starts, machine = np.cumsum(lengths) - lengths, targets[order]
        for amounts, free in limits:
            amount = amounts.take(shapes[order])
            total = before_in_runs(amount, starts, lengths) + amount
            lacking[order] |= (amount > 0) & (total > free.take(machine))
        return lacking

    def _take(self, shapes: Int64, machines: Int64, counts: Int64) -> None:
        for requests, free in zip(self._requests, self._free, strict=True):
            np.subtract.at(free, machines, requests.take(shapes) * counts)
        np.add.at(self.placed, machines, counts)
        for joint in self._joint:
            joint.take(shapes, machines, counts)


def stays(problem: PlacementProblem) -> Bool:
    """bool[C]: classes that take of joint rows which several machines share."""
    found = np.zeros(problem.classes, dtype=np.bool_)
    for rows in problem.joint:
        if rows.shared:
            found |= rows.amount[problem.shape] > 0
    return found


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
            kept[shape] = any((ledger.count_room(known_as) < UNBOUNDED).any() for ledger in problem.ledgers)
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
        machine = places_in(used, problem.machines).take(placed.machine)
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
