"""Which of some moves fit together in every resource: a flow counts tasks, machines hold vectors."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.rescheduling.move_network.problem import MoveProblem, Moves


def gains(problem: MoveProblem, moves: Moves) -> Int64:
    """int64[A]: units that each of single moves gains, the crowd as it is at its source and will be at its target.

    The price for moving is deducted.
    """
    there, then = problem.tasks_on(), problem.after(moves)[0]
    home = problem.home_cost[problem.home_of(moves.row, moves.source)]
    away = problem.cost[moves.row, problem.group[moves.target]].astype(np.int64)
    before = problem.marginal(moves.source, there[moves.source] - 1)
    after = problem.marginal(moves.target, np.maximum(then[moves.target] - 1, 0))
    result: Int64 = home + before - away - after - problem.price[moves.row]
    return result


def admitted(problem: MoveProblem, moves: Moves, without: Iterable[int] = ()) -> Bool:
    """bool[A]: which of single moves remain if ``without`` (entries) are given up, so that no machine is overcommitted.

    Who stays takes up room at home, so others that would have come there stay as well, those that gain least first.
    A machine that is overcommitted as it is takes nobody.
    """
    return _Admission(problem, moves).without(without)


class _Admission:
    """``room``: int64[M, K], what is left if all moves that are kept are made."""

    def __init__(self, problem: MoveProblem, moves: Moves) -> None:
        self._moves = moves
        self._requests = problem.requests[moves.row]
        self.kept = np.ones(len(moves.row), dtype=np.bool_)
        self.room = problem.after(moves)[1]
        order = np.lexsort((np.arange(len(moves.row)), gains(problem, moves)))
        self._coming: dict[int, list[int]] = {}
        for entry in order.tolist():
            self._coming.setdefault(int(moves.target[entry]), []).append(entry)

    def without(self, given_up: Iterable[int]) -> Bool:
        """Give up some moves, and those that do not fit then."""
        for entry in given_up:
            self._give_up(entry)
        overfull = np.flatnonzero((self.room < 0).any(axis=1)).tolist()
        waiting = [machine for machine in overfull if machine in self._coming]
        while waiting:
            waiting += self._relieved(waiting.pop())
        return self.kept

    def _relieved(self, machine: int) -> Collection[int]:
        """Give up moves to a machine until it is not overfull; returns machines that may be overfull by that."""
        sources = set[int]()
        for entry in self._coming.get(machine, ()):
            lacking = self.room[machine] < 0
            if not lacking.any():
                break
            if self.kept[entry] and self._requests[entry][lacking].any():
                self._give_up(entry)
                sources.add(int(self._moves.source[entry]))
        return sorted(
            source for source in sources if (self.room[source] < 0).any() and source in self._coming
        )

    def _give_up(self, entry: int) -> None:
        if self.kept[entry]:
            self.kept[entry] = False
            self.room[self._moves.target[entry]] += self._requests[entry]
            self.room[self._moves.source[entry]] -= self._requests[entry]
