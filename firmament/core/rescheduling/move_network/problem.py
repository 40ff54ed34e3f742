"""The running tasks, their possible other places, and the costs there, as columns of arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.network.network import staircase
from firmament.solvers.base import Int32

BARRED = np.int32(2**30)
"""Cost where a task may not go: above all others."""


@dataclass(frozen=True, slots=True)
class MoveProblem:
    """What runs where, and what it would cost elsewhere; never written to after it is built.

    R rows of alike tasks (a shape at a price for moving), M machines in G groups with equal costs, K
    resources, P homes. Homes are ordered by row, then machine, and no pair comes twice.
    """

    cost: Int32
    """int32[R, G], units for one task, ``BARRED`` if it may not go there."""
    group: Int64
    """int64[M], group of each machine."""
    price: Int64
    """int64[R], units for moving one task, at least 0."""
    requests: Int64
    """int64[R, K]."""
    free: Int64
    """int64[M, K], what is left beside all tasks at their present places."""
    crowd: Int64
    """int64[M], units that a task adds for each that comes after it, in steps of ``step`` tasks."""
    home_row: Int64
    """int64[P], row of tasks."""
    home_machine: Int64
    """int64[P], their machine."""
    home_count: Int64
    """int64[P], how many they are."""
    home_cost: Int64
    """int64[P], units for each."""
    step: int = 1
    """Tasks per step of ``crowd``."""

    @property
    def rows(self) -> int:
        """R, the number of rows."""
        return len(self.price)

    @property
    def groups(self) -> int:
        """G, the number of groups of machines."""
        return self.cost.shape[1]

    @property
    def machines(self) -> int:
        """M, the number of machines."""
        return len(self.crowd)

    def tasks_on(self) -> Int64:
        """Return int64[M]: the tasks of this problem on each machine now."""
        return np.bincount(self.home_machine, self.home_count, self.machines).astype(np.int64)

    def compute_after(self, moves: Moves) -> tuple[Int64, Int64]:
        """Return int64[M], int64[M, K]: tasks on each machine once moves are made, and what is left beside
        them.
        """
        there, room = self.tasks_on(), self.free.copy()
        amounts = self.requests[moves.row] * moves.count[:, None]
        np.subtract.at(there, moves.source, moves.count)
        np.add.at(there, moves.target, moves.count)
        np.add.at(room, moves.source, amounts)
        np.subtract.at(room, moves.target, amounts)
        return there, room

    def sum_requests_at_home(self) -> Int64:
        """Return int64[M, K]: what they request there."""
        requested = np.zeros_like(self.free)
        np.add.at(requested, self.home_machine, self.requests[self.home_row] * self.home_count[:, None])
        return requested

    def most_on(self) -> Int64:
        """Return int64[M]: an upper bound on the tasks of this problem that a machine can hold, at least
        those there now.
        """
        room = np.maximum(self.free, 0) + self.sum_requests_at_home()
        most = np.full(self.machines, int(self.home_count.sum()), dtype=np.int64)
        for column, least in enumerate(self.requests.min(axis=0, initial=2**62).tolist()):
            if 0 < least < 2**62:
                np.minimum(most, room[:, column] // least, out=most)
        return np.maximum(most, self.tasks_on())

    def home_of(self, rows: Int64, machines: Int64) -> Int64:
        """Return int64[A]: which of the homes that of ``rows[i]`` on ``machines[i]`` is; it has to be one."""
        keys = self.home_row * self.machines + self.home_machine
        return np.searchsorted(keys, rows * self.machines + machines)

    def crowding(self, tasks: Int64) -> Int64:
        """Return int64[M]: units that the tasks on each machine (int64[M]) add for one another."""
        return self.crowd * staircase(tasks, self.step)

    def marginal(self, machines: Int64, before: Int64) -> Int64:
        """Return int64[A]: units for the crowd that a task finds on ``machines[i]`` after ``before[i]``
        others.
        """
        return self.crowd[machines] * (before // self.step * self.step)

    def cost_now(self) -> int:
        """Return units that all tasks cost where they are."""
        return int((self.home_cost * self.home_count).sum()) + int(self.crowding(self.tasks_on()).sum())


@dataclass(frozen=True)
class Moves:
    """``count[i]`` tasks of ``row[i]`` go from ``source[i]`` to ``target[i]``, machines: int64[A] each."""

    row: Int64
    source: Int64
    target: Int64
    count: Int64

    @cached_property
    def total(self) -> int:
        """How many tasks move."""
        return int(self.count.sum())

    def one_by_one(self) -> Moves:
        """Return the same, a task an entry."""
        ones = np.ones(self.total, dtype=np.int64)
        row, source, target = (np.repeat(each, self.count) for each in (self.row, self.source, self.target))
        return Moves(row, source, target, ones)

    def select(self, entries: Int64) -> Moves:
        """Return some of the entries (int64[B] or bool[A]) alone."""
        return Moves(self.row[entries], self.source[entries], self.target[entries], self.count[entries])


def compute_saved(problem: MoveProblem, moves: Moves) -> int:
    """Return units that moves save, what moving costs deducted: exact, crowding included."""
    there, then = problem.tasks_on(), problem.compute_after(moves)[0]
    apart = int((_compute_saved_apart(problem, moves) * moves.count).sum())
    return apart + int((problem.crowding(there) - problem.crowding(then)).sum())


def _compute_saved_apart(problem: MoveProblem, moves: Moves) -> Int64:
    """Return int64[A]: units that a task of each entry saves, what moving it costs deducted, the crowd left
    out.
    """
    before = problem.home_cost[problem.home_of(moves.row, moves.source)]
    after = problem.cost[moves.row, problem.group[moves.target]].astype(np.int64)
    saves: Int64 = before - after - problem.price[moves.row]
    return saves


# --- Which of some moves fit together in every resource: a flow counts tasks, machines hold vectors.


def gains(problem: MoveProblem, moves: Moves) -> Int64:
    """Return int64[A]: units that each of single moves gains, the crowd as it is at its source and will be at
    its target.

    The price for moving is deducted.
    """
    there, then = problem.tasks_on(), problem.compute_after(moves)[0]
    before = problem.marginal(moves.source, there[moves.source] - 1)
    after = problem.marginal(moves.target, np.maximum(then[moves.target] - 1, 0))
    return _compute_saved_apart(problem, moves) + before - after


def find_admitted(problem: MoveProblem, moves: Moves, without: Iterable[int] = ()) -> Bool:
    """Return bool[A]: which of single moves remain if ``without`` (entries) are given up, so that no machine
    is overcommitted.

    A task that stays takes up room on its machine, so tasks that would have come there stay as well, those that gain
    least first. A machine that is overcommitted already takes no task.
    """
    return _Admission(problem, moves).give_up(without)


class _Admission:
    """``room``: int64[M, K], what is left if all moves that are kept are made."""

    def __init__(self, problem: MoveProblem, moves: Moves) -> None:
        self._moves = moves
        self._requests = problem.requests[moves.row]
        self.kept = np.ones(len(moves.row), dtype=np.bool_)
        self.room = problem.compute_after(moves)[1]
        order = np.lexsort((np.arange(len(moves.row)), gains(problem, moves)))
        self._coming: dict[int, list[int]] = {}
        for entry in order.tolist():
            self._coming.setdefault(int(moves.target[entry]), []).append(entry)

    def give_up(self, given_up: Iterable[int]) -> Bool:
        """Give up some moves, and those that do not fit then."""
        for entry in given_up:
            self._give_up(entry)
        overfull = np.flatnonzero((self.room < 0).any(axis=1)).tolist()
        waiting = [machine for machine in overfull if machine in self._coming]
        while waiting:
            waiting += self._relieve(waiting.pop())
        return self.kept

    def _relieve(self, machine: int) -> Collection[int]:
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


# --- Where tasks would rather be at given prices of machines: passes over all pairs of rows and groups of machines.


DEAREST = 10**9
"""Prices of machines are cut off here, so that costs and prices together fit 32 bits."""


@dataclass(frozen=True, slots=True)
class MoveColumns:
    """Rows, and groups of machines that their tasks may come to: int64[A] each, by row, then group, no pair twice."""

    row: Int64
    group: Int64

    def merge(self, other: MoveColumns, groups: int) -> MoveColumns:
        """Return these columns and those of another value; ``groups``: how many groups there are."""
        keys = np.union1d(self.row * groups + self.group, other.row * groups + other.group)
        return MoveColumns(keys // groups, keys % groups)

    def __len__(self) -> int:
        return len(self.row)


def group_prices(problem: MoveProblem, prices: Int64) -> Int64:
    """Return int64[G]: the price of the cheapest machine of each group, ``DEAREST`` at most; ``prices``:
    int64[M].
    """
    least = np.full(problem.groups, DEAREST, dtype=np.int64)
    np.minimum.at(least, problem.group, prices)
    return least


def least_costs(problem: MoveProblem, prices: Int64) -> Int64:
    """Return int64[R]: what the cheapest place costs a task of each row, the machine's price (int64[M])
    included.

    ``BARRED`` or more where it may go nowhere.
    """
    none = np.zeros(problem.rows, dtype=np.int64)
    return cheapest_places(problem, prices, none, none)[1]


def cheapest_places(
    problem: MoveProblem, prices: Int64, limits: Int64, most: Int64
) -> tuple[MoveColumns, Int64]:
    """Return pairs that cost less than the row's limit (int64[R]), the price (int64[M]) of the group's
    cheapest machine included; of each row the cheapest, so many as ``most`` says (int64[R]).

    Also returns what ``least_costs`` does. Of groups that cost a row the same, it takes the ones after one of its own,
    so that rows do not crowd onto the same groups.
    """
    groups = problem.groups
    charged = np.maximum(group_prices(problem, prices), -DEAREST).astype(np.int32)
    total = np.empty(groups, dtype=np.int32)
    least = np.full(problem.rows, int(BARRED), dtype=np.int64)
    chosen: list[Int64] = []
    count = np.zeros(problem.rows, dtype=np.int64)
    for row in range(problem.rows if groups else 0):
        np.add(problem.cost[row], charged, out=total)
        total[problem.cost[row] == BARRED] = BARRED  # no rebate makes it a place
        least[row] = total.min()
        if most[row] and least[row] < limits[row]:
            found = np.flatnonzero(total < min(int(limits[row]), int(BARRED)))
            if len(found) > most[row]:
                begin = groups * row // problem.rows
                order = total[found].astype(np.int64) * groups + (found - begin) % groups
                found = np.sort(found[np.argpartition(order, int(most[row]))[: most[row]]])
            chosen.append(found)
            count[row] = len(found)
    places = np.concatenate(chosen) if chosen else np.empty(0, dtype=np.int64)
    return MoveColumns(np.repeat(np.arange(problem.rows), count), places), least


# --- How much any moves could save at most: a Lagrangian bound that holds for all prices of machines.
#
# Each task, by itself, stays at its cost and the price of its machine, or moves to wherever cost, price and the price
# for moving are least; each machine, by itself, takes as many tasks as pay. No constraint but the number of tasks on
# machines takes part, so the bound holds with all others; how tight it is depends on the prices.


def least_cost(problem: MoveProblem, prices: Int64, least: Int64, extra_price: int, most_on: Int64) -> int:
    """Return units that tasks cost at least wherever they are, each move at ``extra_price`` beside the row's
    price.

    ``prices``: int64[M], any; ``least``: int64[R], what ``least_costs`` says at these prices; ``most_on``: int64[M].
    """
    stays = problem.home_cost + prices[problem.home_machine]
    moves = problem.price[problem.home_row] + extra_price + least[problem.home_row]
    tasks = int((np.minimum(stays, moves) * problem.home_count).sum())
    return tasks - int(_compute_earned(problem, prices, most_on).sum())


def _compute_earned(problem: MoveProblem, prices: Int64, most_on: Int64) -> Int64:
    """Return int64[M]: what each machine earns at most by taking tasks at its price, its crowding deducted."""
    paying = np.maximum(prices, 0)
    crowd = np.maximum(problem.crowd, 1)
    # A task pays as long as the crowd that it finds costs less than the price.
    steps = -(-paying // (crowd * problem.step))
    taken = np.where(problem.crowd > 0, steps * problem.step, np.where(prices > 0, most_on, 0))
    taken = np.clip(taken, 0, most_on)
    return prices * taken - problem.crowding(taken)
