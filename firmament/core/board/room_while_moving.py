"""Keeps what machines have left after a finished placement, while its tasks move or change places."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.heights_and_prices import entries
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.ranks import find_runs, order_by, sum_before_in_runs


def remaining_after(problem: PlacementProblem, placed: Assignments) -> Residual:
    """Return what machines have left after a placement whose tasks do not use ledgers."""
    residual = Residual(replace(problem, ledgers=()))
    residual.book(problem.shape[placed.cls], placed.machine, placed.count)
    return residual


class MovingRoom:
    """What machines have left after a placement, for classes that use no joint row shared by machines."""

    def __init__(self, problem: PlacementProblem, placed: Assignments) -> None:
        self._feasible = problem.feasible
        self._residual = remaining_after(problem, placed)
        self._requested = np.flatnonzero(problem.requests.any(axis=0))
        self._requests: Int64 = problem.requests.T[self._requested]
        self._limited_jointly = any(len(joint.left) for joint in self._residual.joint)

    @property
    def placed(self) -> Int64:
        """int64[M], number of tasks of the round on each machine."""
        return self._residual.placed

    def count_fitting(self, shapes: Int64, machines: Int64) -> Int64:
        """Return how many tasks of ``shapes[i]`` fit on ``machines[i]`` if no others are placed there: int64[A]."""
        return np.where(self._feasible[shapes, machines], self._residual.count_fitting(shapes, machines), 0)

    def open_to_some(self, shapes: Int64) -> Bool:
        """Return which machines can take the smallest request of each resource among ``shapes``: bool[M]."""
        return self._has_left(self._requests[:, shapes].min(axis=1, keepdims=True))

    def open_to_all(self, shapes: Int64) -> Bool:
        """Return which machines certainly take a task of each of ``shapes``: bool[M]."""
        if self._limited_jointly:
            return np.zeros(len(self.placed), dtype=np.bool_)
        fit = self._has_left(self._requests[:, shapes].max(axis=1, keepdims=True))
        return fit if self._feasible.all() else fit & self._feasible[shapes].all(axis=0)

    def _has_left(self, amounts: Int64) -> Bool:
        """Return which machines have at least ``amounts`` (int64[K', 1]) of each requested resource left: bool[M]."""
        return np.asarray((self._residual.free[self._requested] >= amounts).all(axis=0))

    def move(self, shapes: Int64, sources: Int64, targets: Int64) -> None:
        """Move one task per entry: a task of ``shapes[i]`` from ``sources[i]`` to ``targets[i]``."""
        ones = np.ones(len(shapes), dtype=np.int64)
        self._residual.book(shapes, sources, -ones)
        self._residual.book(shapes, targets, ones)

    def find_overfilled(self, shapes: Int64, targets: Int64) -> Bool:
        """Return which arrivals do not fit once all earlier ones are on the same machine: bool[A]."""
        order = order_by(targets)
        starts, lengths = find_runs(targets[order])
        limits = list(self._residual.limits())
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
            total = sum_before_in_runs(amount, starts, lengths) + amount
            lacking[order] |= (amount > 0) & (total > free.take(machine))
        return lacking


class ExchangeRoom:
    """What a placement leaves on machines ``used`` (int64[U]), by resource and by joint row of single machines.

    Pairs of machines are int64[2, P], indices into ``used``; ``shapes``: int64[2, P], shapes of the tasks that the
    two machines exchange.
    """

    def __init__(self, problem: PlacementProblem, placed: Assignments, used: Int64) -> None:
        self._problem = problem
        self._used = used
        self._shared = [rows for rows in problem.joint if rows.shared]
        alone = tuple(rows for rows in problem.joint if not rows.shared)
        residual = remaining_after(replace(problem, joint=alone), placed)
        tasks = residual.placed.take(used)
        concerned = np.zeros(problem.machines, dtype=np.bool_)
        concerned[used] = True
        shapes = problem.shape.take(placed.cls[concerned.take(placed.machine)])
        self._limits: list[tuple[Int64, Int64]] = []
        for amount, left in residual.limits(used):
            taken = amount.take(shapes)
            # If every machine has enough for each of its tasks to grow from the smallest size to the largest, this
            # limit never refuses an exchange.
            if (left // tasks < taken.max() - taken.min()).any():
                self._limits.append((amount, left))

    def allows(self, shapes: Int64, machines: Int64) -> Bool:
        """Return whether the tasks of each pair may be exchanged: bool[P]; no machine may be in two pairs."""
        rows = self._used.take(machines)
        allowed: Bool = np.logical_and(*entries(self._problem.feasible, shapes[::-1], rows))
        for amount, left in self._limits:
            # On an overcommitted machine, a smaller task may still replace a larger one.
            allowed &= (np.maximum(left.take(machines), 0) >= _more(amount, shapes)).all(axis=0)
        for joint in self._shared:
            # A shared row may also be used by tasks outside this problem, so an exchange may not change how much of
            # it is used.
            amounts, row = joint.amount.take(shapes), joint.row_of.take(rows)
            allowed &= (amounts[0] == amounts[1]) | (row[0] == row[1])
        if self._problem.quotas is not None:
            draws, kinds = self._problem.quotas.draw.take(shapes), self._problem.quotas.kind.take(rows)
            allowed &= (draws[0] == draws[1]) | (kinds[0] == kinds[1])
        return allowed

    def exchange(self, shapes: Int64, machines: Int64) -> None:
        """Book exchanges that ``allows`` has allowed."""
        for amount, left in self._limits:
            left[machines] -= _more(amount, shapes)


def _more(amount: Int64, shapes: Int64) -> Int64:
    """Return how much more each machine holds after the exchange: int64[2, P]; ``amount``: int64[S]."""
    of_both = amount.take(shapes)
    more: Int64 = of_both[::-1] - of_both
    return more
