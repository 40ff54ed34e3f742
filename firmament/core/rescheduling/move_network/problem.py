"""Defines the problem of moving running tasks: the places they may move to, and the costs there, as arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.network.network import sum_steps
from firmament.solvers.base import Int32

BARRED = np.int32(2**30)
"""Cost of a task where it may not go; above all other costs."""


@dataclass(frozen=True, slots=True)
class MoveProblem:
    """Running tasks and what they would cost elsewhere; immutable.

    There are R rows of alike tasks (one shape and price for moving), M machines in G groups of equal costs, K resources
    and P homes. A home is a pair (row, machine); homes are sorted, and no pair occurs twice.
    """

    cost: Int32
    """int32[R, G], cost of one task in hundredths of a point, ``BARRED`` if it may not go there."""
    group: Int64
    """int64[M], group of each machine."""
    price: Int64
    """int64[R], price for moving one task of each row, in hundredths of a point, at least 0."""
    requests: Int64
    """int64[R, K], what one task of each row requests."""
    free: Int64
    """int64[M, K], free amounts with all tasks at their present places."""
    crowd: Int64
    """int64[M], units of cost by which a task raises the cost of each later one, in steps of ``step`` tasks."""
    home_row: Int64
    """int64[P], row of each home's tasks."""
    home_machine: Int64
    """int64[P], machine of each home."""
    home_count: Int64
    """int64[P], number of tasks of each home."""
    home_cost: Int64
    """int64[P], present cost of one task of each home, in hundredths of a point."""
    step: int = 1
    """Number of tasks per step of ``crowd``."""

    @property
    def row_count(self) -> int:
        """Number of rows: R."""
        return len(self.price)

    @property
    def group_count(self) -> int:
        """Number of groups of machines: G."""
        return self.cost.shape[1]

    @property
    def machine_count(self) -> int:
        """Number of machines: M."""
        return len(self.crowd)

    def tasks_on(self) -> Int64:
        """Return how many of this problem's tasks are on each machine now: int64[M]."""
        return np.bincount(self.home_machine, self.home_count, self.machine_count).astype(np.int64)

    def compute_tasks_and_room_after(self, moves: Moves) -> tuple[Int64, Int64]:
        """Return the tasks on each machine after ``moves``, int64[M], and what is free then, int64[M, K]."""
        there, room = self.tasks_on(), self.free.copy()
        amounts = self.requests[moves.row] * moves.count[:, None]
        np.subtract.at(there, moves.source, moves.count)
        np.add.at(there, moves.target, moves.count)
        np.add.at(room, moves.source, amounts)
        np.subtract.at(room, moves.target, amounts)
        return there, room

    def sum_requests_at_home(self) -> Int64:
        """Return what this problem's tasks request on each machine now: int64[M, K]."""
        requested = np.zeros_like(self.free)
        np.add.at(requested, self.home_machine, self.requests[self.home_row] * self.home_count[:, None])
        return requested

    def most_on(self) -> Int64:
        """Return an upper bound on this problem's tasks per machine, at least their present number: int64[M]."""
        room = np.maximum(self.free, 0) + self.sum_requests_at_home()
        most = np.full(self.machine_count, int(self.home_count.sum()), dtype=np.int64)
        for column, least in enumerate(self.requests.min(axis=0, initial=2**62).tolist()):
            if 0 < least < 2**62:
                np.minimum(most, room[:, column] // least, out=most)
        return np.maximum(most, self.tasks_on())

    def home_of(self, rows: Int64, machines: Int64) -> Int64:
        """Return the index of the home of ``rows[i]`` on ``machines[i]``, which must exist: int64[A]."""
        keys = self.home_row * self.machine_count + self.home_machine
        return np.searchsorted(keys, rows * self.machine_count + machines)

    def crowding(self, tasks: Int64) -> Int64:
        """Return the crowding cost of ``tasks`` (int64[M]) on each machine: int64[M], in hundredths of a point."""
        return self.crowd * sum_steps(tasks, self.step)

    def marginal(self, machines: Int64, before: Int64) -> Int64:
        """Return the crowding cost of a task on ``machines[i]`` that comes after ``before[i]`` others: int64[A]."""
        return self.crowd[machines] * (before // self.step * self.step)

    def cost_now(self) -> int:
        """Return the present cost of all tasks in hundredths of a point."""
        return int((self.home_cost * self.home_count).sum()) + int(self.crowding(self.tasks_on()).sum())


@dataclass(frozen=True)
class Moves:
    """Moves: ``count[i]`` tasks of ``row[i]`` go from machine ``source[i]`` to machine ``target[i]``: int64[A] each."""

    row: Int64
    source: Int64
    target: Int64
    count: Int64

    @cached_property
    def total(self) -> int:
        """The number of tasks that move."""
        return int(self.count.sum())

    def one_by_one(self) -> Moves:
        """Return the same moves with one entry per task."""
        ones = np.ones(self.total, dtype=np.int64)
        row, source, target = (np.repeat(each, self.count) for each in (self.row, self.source, self.target))
        return Moves(row, source, target, ones)

    def select(self, entries: Int64) -> Moves:
        """Return only some entries, given as int64[B] or bool[A]."""
        return Moves(self.row[entries], self.source[entries], self.target[entries], self.count[entries])


def compute_saved(problem: MoveProblem, moves: Moves) -> int:
    """Return the cost units that moves save, minus the price of moving; exact, including crowding."""
    there, then = problem.tasks_on(), problem.compute_tasks_and_room_after(moves)[0]
    apart = int((_compute_saved_apart(problem, moves) * moves.count).sum())
    return apart + int((problem.crowding(there) - problem.crowding(then)).sum())


def _compute_saved_apart(problem: MoveProblem, moves: Moves) -> Int64:
    """Return the units that a task of each entry saves without crowding, minus the price of its move: int64[A]."""
    before = problem.home_cost[problem.home_of(moves.row, moves.source)]
    after = problem.cost[moves.row, problem.group[moves.target]].astype(np.int64)
    saves: Int64 = before - after - problem.price[moves.row]
    return saves


# --- Moves that fit together in every resource; a flow counts tasks, but machines have amounts of several resources.


def compute_gains(problem: MoveProblem, moves: Moves) -> Int64:
    """Return the cost units that each single move gains, minus the price of moving: int64[A].

    Crowding counts as it is at the move's source now, and as it will be at its target.
    """
    there, then = problem.tasks_on(), problem.compute_tasks_and_room_after(moves)[0]
    before = problem.marginal(moves.source, there[moves.source] - 1)
    after = problem.marginal(moves.target, np.maximum(then[moves.target] - 1, 0))
    return _compute_saved_apart(problem, moves) + before - after


def find_admitted(problem: MoveProblem, moves: Moves, without: Iterable[int] = ()) -> Bool:
    """Return which single moves can still be made if the entries ``without`` are not made: bool[A].

    No machine becomes overcommitted. A task that stays uses its machine, so some tasks that would have come there stay
    as well, those that gain least first. A machine that is already overcommitted takes no task.
    """
    return _Admission(problem, moves).give_up(without)


class _Admission:
    """Gives up moves until the remaining ones fit.

    ``room``: int64[M, K], what is free after all moves that are kept.
    """

    def __init__(self, problem: MoveProblem, moves: Moves) -> None:
        self._moves = moves
        self._requests = problem.requests[moves.row]
        self.kept = np.ones(len(moves.row), dtype=np.bool_)
        self.room = problem.compute_tasks_and_room_after(moves)[1]
        order = np.lexsort((np.arange(len(moves.row)), compute_gains(problem, moves)))
        self._coming: dict[int, list[int]] = {}
        for entry in order.tolist():
            self._coming.setdefault(int(moves.target[entry]), []).append(entry)

    def give_up(self, given_up: Iterable[int]) -> Bool:
        """Give up some moves, and moves that then do not fit; return which moves are kept: bool[A]."""
        for entry in given_up:
            self._give_up(entry)
        overfull = np.flatnonzero((self.room < 0).any(axis=1)).tolist()
        waiting = [machine for machine in overfull if machine in self._coming]
        while waiting:
            waiting += self._relieve(waiting.pop())
        return self.kept

    def _relieve(self, machine: int) -> Collection[int]:
        """Give up moves to a machine until it is not overfull.

        Return other machines that this may have made overfull.
        """
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


# --- Places where tasks would cost less at given prices of machines, by scans of all pairs of rows and groups.


DEAREST = 10**9
"""Limit on prices of machines, so that the sum of a cost and a price fits into 32 bits."""


@dataclass(frozen=True, slots=True)
class MoveColumns:
    """Pairs of rows and groups of machines where tasks of the row may go: int64[A] each, sorted, each pair once."""

    row: Int64
    group: Int64

    def merge(self, other: MoveColumns, groups: int) -> MoveColumns:
        """Return the union of these columns and ``other``; ``groups``: number of groups of machines."""
        keys = np.union1d(self.row * groups + self.group, other.row * groups + other.group)
        return MoveColumns(keys // groups, keys % groups)

    def __len__(self) -> int:
        return len(self.row)


def group_prices(problem: MoveProblem, prices: Int64) -> Int64:
    """Return the price of each group's cheapest machine, at most ``DEAREST``: int64[G]; ``prices``: int64[M]."""
    least = np.full(problem.group_count, DEAREST, dtype=np.int64)
    np.minimum.at(least, problem.group, prices)
    return least


def least_costs(problem: MoveProblem, prices: Int64) -> Int64:
    """Return for each row the least sum of a place's cost and its machine's price: int64[R].

    ``prices``: int64[M]. The sum is at least ``BARRED`` if tasks of the row may go nowhere.
    """
    none = np.zeros(problem.row_count, dtype=np.int64)
    return cheapest_places(problem, prices, none, none)[1]


def cheapest_places(
    problem: MoveProblem, prices: Int64, limits: Int64, most: Int64
) -> tuple[MoveColumns, Int64]:
    """Return pairs of row and group that cost less than the row's limit (int64[R]) at the group's cheapest machine.

    The cost includes the price of that machine. Of each row, the cheapest ``most`` (int64[R]) pairs are returned;
    ``prices``: int64[M]. The function also returns the result of ``least_costs``. Among groups of equal cost, each
    row begins at another group, so that not all rows choose the same groups.
    """
    groups = problem.group_count
    charged = np.maximum(group_prices(problem, prices), -DEAREST).astype(np.int32)
    total = np.empty(groups, dtype=np.int32)
    least = np.full(problem.row_count, int(BARRED), dtype=np.int64)
    chosen: list[Int64] = []
    count = np.zeros(problem.row_count, dtype=np.int64)
    for row in range(problem.row_count if groups else 0):
        np.add(problem.cost[row], charged, out=total)
        total[problem.cost[row] == BARRED] = BARRED  # at the limit even where the price is negative
        least[row] = total.min()
        if most[row] and least[row] < limits[row]:
            found = np.flatnonzero(total < min(int(limits[row]), int(BARRED)))
            if len(found) > most[row]:
                begin = groups * row // problem.row_count
                order = total[found].astype(np.int64) * groups + (found - begin) % groups
                found = np.sort(found[np.argpartition(order, int(most[row]))[: most[row]]])
            chosen.append(found)
            count[row] = len(found)
    places = np.concatenate(chosen) if chosen else np.empty(0, dtype=np.int64)
    return MoveColumns(np.repeat(np.arange(problem.row_count), count), places), least


# --- An upper bound on what any moves can save: a Lagrangian bound that holds for all prices of machines.
#
# In the bound, each task by itself stays, at its cost and the price of its machine, or moves to where cost, machine
# price and price for moving are least. In the bound, each machine by itself takes as many tasks as pay. Only limits
# on the number of tasks per machine enter the bound, so it also holds with all other limits. How tight the bound is
# depends on the prices.


def least_cost(problem: MoveProblem, prices: Int64, least: Int64, extra_price: int, most_on: Int64) -> int:
    """Return a lower bound of the cost of all tasks, in units, with a price of ``extra_price`` per move.

    The price of the task's row is charged as well. ``prices``: int64[M], any prices of machines; ``least``: int64[R],
    result of ``least_costs`` at these prices; ``most_on``: int64[M], most tasks per machine.
    """
    stays = problem.home_cost + prices[problem.home_machine]
    moves = problem.price[problem.home_row] + extra_price + least[problem.home_row]
    tasks = int((np.minimum(stays, moves) * problem.home_count).sum())
    return tasks - int(_compute_earned(problem, prices, most_on).sum())


def _compute_earned(problem: MoveProblem, prices: Int64, most_on: Int64) -> Int64:
    """Return the most that each machine can earn by taking tasks at its price, minus crowding: int64[M]."""
    paying = np.maximum(prices, 0)
    crowd = np.maximum(problem.crowd, 1)
    # A further task on a machine pays as long as its crowding costs less than the machine's price.
    steps = -(-paying // (crowd * problem.step))
    taken = np.where(problem.crowd > 0, steps * problem.step, np.where(prices > 0, most_on, 0))
    taken = np.clip(taken, 0, most_on)
    return prices * taken - problem.crowding(taken)
