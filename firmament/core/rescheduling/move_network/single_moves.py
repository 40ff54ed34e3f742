"""Moves of one task at a time, beyond what a flow has found: they know the sizes of tasks, which a flow does not."""

from __future__ import annotations

import heapq

import numpy as np

from cost_models.interface import Int64
from firmament.core.rescheduling.move_network.columns import least_costs
from firmament.core.rescheduling.move_network.problem import BARRED, MoveProblem, Moves


def with_single_moves(problem: MoveProblem, moves: Moves, extra_price: int, tries: int) -> Moves:
    """Return moves (single ones) and more of them: whoever gains most goes first, to the cheapest machine with room.

    Each of them gains more than ``extra_price`` units beside its row's price. At most so many ``tries`` are made.
    """
    search = _SingleMoves(problem, moves, extra_price)
    for _ in range(tries):
        if not search.step():
            break
    return search.moves()


class _SingleMoves:
    """``left``: int64[P], tasks still at each home; ``there``: int64[M], tasks on machines; ``room``: int64[M, K]."""

    def __init__(self, problem: MoveProblem, moves: Moves, extra_price: int) -> None:
        self._problem, self._before, self._extra = problem, moves, extra_price
        homes = problem.home_of(moves.row, moves.source)
        self._left = problem.home_count - np.bincount(
            homes, weights=moves.count, minlength=len(problem.home_row)
        )
        self._there = problem.tasks_on()
        np.subtract.at(self._there, moves.source, moves.count)
        np.add.at(self._there, moves.target, moves.count)
        self._room = problem.free.copy()
        amounts = problem.requests[moves.row] * moves.count[:, None]
        np.add.at(self._room, moves.source, amounts)
        np.subtract.at(self._room, moves.target, amounts)
        self._made: list[tuple[int, int, int]] = []
        hopes = self._hopes()
        promising = np.flatnonzero((hopes > 0) & (self._left > 0))
        self._queue = [(-int(hopes[home]), int(home)) for home in promising.tolist()]
        heapq.heapify(self._queue)

    def step(self) -> bool:
        """Try the home whose tasks may gain most; say whether there was any."""
        if not self._queue:
            return False
        hoped, home = heapq.heappop(self._queue)
        target, gain = self._best(home)
        if gain <= 0:
            return True
        if self._queue and gain < -self._queue[0][0] and gain < -hoped:
            heapq.heappush(self._queue, (-gain, home))  # others may gain more by now
            return True
        self._move(home, target)
        if self._left[home] > 0:
            heapq.heappush(self._queue, (-gain, home))
        return True

    def moves(self) -> Moves:
        """All moves, those from before first."""
        before = self._before
        more = np.array(self._made, dtype=np.int64).reshape(-1, 3)
        ones = np.ones(len(more), dtype=np.int64)
        return Moves(
            np.concatenate([before.row, more[:, 0]]),
            np.concatenate([before.source, more[:, 1]]),
            np.concatenate([before.target, more[:, 2]]),
            np.concatenate([before.count, ones]),
        )

    def _hopes(self) -> Int64:
        """int64[P]: what a task of each home gains at most, if room did not matter."""
        problem = self._problem
        marginal = problem.marginal(np.arange(problem.machines), self._there)
        least = least_costs(problem, marginal)[problem.home_row]
        leaves = problem.marginal(problem.home_machine, np.maximum(self._there[problem.home_machine] - 1, 0))
        hopes: Int64 = problem.home_cost + leaves - problem.price[problem.home_row] - self._extra - least
        return hopes

    def _best(self, home: int) -> tuple[int, int]:
        """The machine on which a task of a home costs least, of those with room for it, and what it gains by that."""
        problem = self._problem
        row, source = int(problem.home_row[home]), int(problem.home_machine[home])
        cost = problem.cost[row][problem.group].astype(np.int64)
        cost += problem.crowd * (self._there // problem.step * problem.step)
        barred = problem.cost[row][problem.group] == BARRED
        asked = np.flatnonzero(problem.requests[row])
        for column in asked.tolist():
            barred |= self._room[:, column] < problem.requests[row, column]
        barred[source] = True
        cost[barred] = BARRED
        target = int(cost.argmin()) if len(cost) else 0
        if not len(cost) or cost[target] >= BARRED:
            return target, 0
        before = int(problem.marginal(np.array([source]), self._there[[source]] - 1)[0])
        gain = (
            int(problem.home_cost[home]) + before - int(cost[target]) - int(problem.price[row]) - self._extra
        )
        return target, gain

    def _move(self, home: int, target: int) -> None:
        problem = self._problem
        row, source = int(problem.home_row[home]), int(problem.home_machine[home])
        self._left[home] -= 1
        self._there[source] -= 1
        self._there[target] += 1
        self._room[source] += problem.requests[row]
        self._room[target] -= problem.requests[row]
        self._made.append((row, source, target))
