"""Improves the moves that a flow proposes by one or two moves at a time, with the true sizes of tasks.

A task goes to the cheapest machine where it fits. Or it goes to a cheaper machine from which another task moves away
for it, if the two moves together gain more (an ejection chain of two).
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.rescheduling.move_network.problem import BARRED, MoveProblem, Moves, least_costs
from firmament.core.search.driver import SearchBudget, search

_EJECTING = 8
"""Number of machines without space that are considered for a task: those on which it would gain most."""


def add_local_moves(
    problem: MoveProblem, moves: Moves, extra_price: int, *, tries: int, most: int = 2**62
) -> Moves:
    """Return ``moves`` (of single tasks) with more moves added, the most profitable first.

    Each step gains more than ``extra_price`` units, besides the row's price, for each of its moves. At most ``tries``
    moves are tried, and there are at most ``most`` moves in all.
    """
    move = LocalMoves(problem, moves, extra_price, most)
    search(move, SearchBudget(tries))
    return move.moves()


class _LocalMove(NamedTuple):
    """A move of one task of a home (tasks of one row on one machine) to another machine; ``gain``: in units of cost.

    ``ejected``: home and new machine of a task that moves away for it; ``hoped``: an upper bound of the gain. The gain
    is 0 if there is no such machine.
    """

    gain: int
    target: int
    ejected: tuple[int, int] | None = None
    home: int = -1
    hoped: int = 0


class LocalMoves:
    """A local search that moves one task at a time to another machine, or two tasks if one moves away for the other.

    ``left``: int64[P], tasks still at each home (tasks of one row on one machine); ``there``: int64[M], tasks on each
    machine; ``room``: int64[M, K], free amounts.
    """

    name = "local_moves"

    def __init__(self, problem: MoveProblem, moves: Moves, extra_price: int, most: int) -> None:
        self._problem, self._before, self._extra, self._most = problem, moves, extra_price, most
        homes = problem.home_of(moves.row, moves.source)
        gone = np.bincount(homes, weights=moves.count, minlength=len(problem.home_row)).astype(np.int64)
        self._left = problem.home_count - gone
        self._there, self._room = problem.compute_tasks_and_room_after(moves)
        self._by_machine = np.argsort(problem.home_machine, kind="stable")
        self._starts = np.searchsorted(
            problem.home_machine[self._by_machine], np.arange(problem.machine_count + 1)
        )
        self._made: list[tuple[int, int, int]] = []
        hopes = self._compute_hopes()
        promising = np.flatnonzero((hopes > 0) & (self._left > 0))
        self._queue = [(-int(hopes[home]), int(home)) for home in promising.tolist()]
        heapq.heapify(self._queue)

    def evaluate(self, budget: SearchBudget) -> _LocalMove | None:
        """Return the best move of the home whose tasks may gain most, or None if no task may gain any more."""
        if not self._queue or self._total >= self._most:
            return None
        budget.spend()
        hoped, home = heapq.heappop(self._queue)
        found = self._find_best(home) if self._left[home] > 0 else _LocalMove(0, -1)
        return found._replace(home=home, hoped=-hoped)

    def accepts(self, change: _LocalMove) -> bool:
        """Return whether the change gains, and no other home may gain more by now."""
        return change.gain > 0 and not (self._queue and change.gain < min(-self._queue[0][0], change.hoped))

    def apply(self, change: _LocalMove) -> None:
        """Make the move, and put the home back into the queue, as another task of this home may gain as much."""
        if change.ejected is not None:
            self._move(*change.ejected)
        self._move(change.home, change.target)
        heapq.heappush(self._queue, (-change.gain, change.home))

    def undo(self, change: _LocalMove) -> None:
        """Put the home of the undone move back into the queue if its move gains."""
        if change.gain > 0:
            heapq.heappush(self._queue, (-change.gain, change.home))

    @property
    def _total(self) -> int:
        """Number of moves so far."""
        return self._before.total + len(self._made)

    def moves(self) -> Moves:
        """Return all moves, first those given at the beginning."""
        before = self._before
        more = np.array(self._made, dtype=np.int64).reshape(-1, 3)
        return Moves(
            np.concatenate([before.row, more[:, 0]]),
            np.concatenate([before.source, more[:, 1]]),
            np.concatenate([before.target, more[:, 2]]),
            np.concatenate([before.count, np.ones(len(more), dtype=np.int64)]),
        )

    def _compute_hopes(self) -> Int64:
        """Return an upper bound on the gain of a task of each home, as if every task fitted everywhere: int64[P]."""
        problem = self._problem
        marginal = problem.marginal(np.arange(problem.machine_count), self._there)
        least = least_costs(problem, marginal)[problem.home_row]
        leaves = problem.marginal(problem.home_machine, np.maximum(self._there[problem.home_machine] - 1, 0))
        hopes: Int64 = problem.home_cost + leaves - problem.price[problem.home_row] - self._extra - least
        return hopes

    def _find_best(self, home: int) -> _LocalMove:
        """Return the most profitable move of a task that is now at ``home``; a gain of 0 means that there is none."""
        row = int(self._problem.home_row[home])
        cost = self._costs(home)
        roomy = self._has_room(row)
        saves = self._saves(home)
        best = _LocalMove(0, -1)
        inside = np.where(roomy, cost, BARRED)
        if len(inside) and (least := int(inside.min())) < BARRED:
            best = max(best, _LocalMove(saves - least, int(inside.argmin())))
        if self._total + 2 > self._most:
            return best
        outside = np.flatnonzero(~roomy & (cost < saves - best.gain))
        for target in outside[np.argsort(cost[outside], kind="stable")[:_EJECTING]].tolist():
            if saves - int(cost[target]) > best.gain:
                best = self._eject(home, target, saves - int(cost[target]), best)
        return best

    def _eject(self, home: int, target: int, gain: int, best: _LocalMove) -> _LocalMove:
        """Return the better of ``best`` and of a move for which another task leaves ``target``."""
        problem, row = self._problem, int(self._problem.home_row[home])
        lacking = np.maximum(problem.requests[row] - self._room[target], 0)
        for other in self._by_machine[self._starts[target] : self._starts[target + 1]].tolist():
            theirs = int(problem.home_row[other])
            if self._left[other] <= 0 or (problem.requests[theirs] < lacking).any():
                continue
            cost = np.where(self._has_room(theirs), self._costs(other), BARRED)
            least = int(cost.min())
            step = _LocalMove(gain + self._saves(other) - least, target, (other, int(cost.argmin())))
            # ``gain`` was computed with the ejected task still on ``target``, so it is a lower bound.
            if least < BARRED and step.gain > best.gain:
                best = step
        return best

    def _saves(self, home: int) -> int:
        """Return the units of cost that leaving the home saves, minus the price of moving."""
        problem, source = self._problem, self._problem.home_machine[[home]]
        before = int(problem.marginal(source, self._there[source] - 1)[0])
        row = int(problem.home_row[home])
        return int(problem.home_cost[home]) + before - int(problem.price[row]) - self._extra

    def _costs(self, home: int) -> Int64:
        """Return the cost of a task of a home on each machine: int64[M].

        The cost is at least ``BARRED`` at home, and where the task may not go.
        """
        problem = self._problem
        row = int(problem.home_row[home])
        cost = problem.cost[row][problem.group].astype(np.int64)
        cost[cost < BARRED] += (problem.crowd * (self._there // problem.step * problem.step))[cost < BARRED]
        cost[problem.home_machine[home]] = BARRED
        return cost

    def _has_room(self, row: int) -> Bool:
        """Return which machines have enough free for a task of a row: bool[M]."""
        room = np.ones(self._problem.machine_count, dtype=np.bool_)
        for column in np.flatnonzero(self._problem.requests[row]).tolist():
            room &= self._room[:, column] >= self._problem.requests[row, column]
        return room

    def _move(self, home: int, target: int) -> None:
        problem = self._problem
        row, source = int(problem.home_row[home]), int(problem.home_machine[home])
        self._left[home] -= 1
        self._there[source] -= 1
        self._there[target] += 1
        self._room[source] += problem.requests[row]
        self._room[target] -= problem.requests[row]
        self._made.append((row, source, target))
