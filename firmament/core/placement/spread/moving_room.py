"""Room on machines while tasks of a finished placement move about: what is free, and how many tasks each has."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.problem import UNLIMITED, Assignments, PlacementProblem
from firmament.core.ranks import before_in_runs, order_by, runs
from firmament.core.rules.model_limits import JointRoom


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
