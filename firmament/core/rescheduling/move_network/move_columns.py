"""Where tasks would rather be at given prices of machines: passes over all pairs of rows and groups of machines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.core.rescheduling.move_network.problem import BARRED, MoveProblem

DEAREST = 10**9
"""Prices of machines are cut off here, so that costs and prices together fit 32 bits."""


@dataclass(frozen=True, slots=True)
class MoveColumns:
    """Rows, and groups of machines that their tasks may come to: int64[A] each, by row, then group, no pair twice."""

    row: Int64
    group: Int64

    def merged(self, other: MoveColumns, groups: int) -> MoveColumns:
        """These and those of another; there are so many ``groups``."""
        keys = np.union1d(self.row * groups + self.group, other.row * groups + other.group)
        return MoveColumns(keys // groups, keys % groups)

    def __len__(self) -> int:
        return len(self.row)


def group_prices(problem: MoveProblem, prices: Int64) -> Int64:
    """int64[G]: the price of the cheapest machine of each group, ``DEAREST`` at most; ``prices``: int64[M]."""
    least = np.full(problem.groups, DEAREST, dtype=np.int64)
    np.minimum.at(least, problem.group, prices)
    return least


def least_costs(problem: MoveProblem, prices: Int64) -> Int64:
    """int64[R]: what the cheapest place costs a task of each row, the machine's price (int64[M]) included.

    ``BARRED`` or more where it may go nowhere.
    """
    none = np.zeros(problem.rows, dtype=np.int64)
    return cheapest_places(problem, prices, none, none)[1]


def cheapest_places(
    problem: MoveProblem, prices: Int64, limits: Int64, most: Int64
) -> tuple[MoveColumns, Int64]:
    """Pairs that cost less than the row's limit (int64[R]), the price (int64[M]) of the group's cheapest machine
    included; of each row the cheapest, so many as ``most`` says (int64[R]).

    Also returns what ``least_costs`` does. Of groups that cost a row the same it takes those that follow one of its
    own, so that rows do not crowd onto the same.
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
    """Units that tasks cost at least wherever they are, each move at ``extra_price`` beside the row's price.

    ``prices``: int64[M], any; ``least``: int64[R], what ``least_costs`` says at these prices; ``most_on``: int64[M].
    """
    stays = problem.home_cost + prices[problem.home_machine]
    moves = problem.price[problem.home_row] + extra_price + least[problem.home_row]
    tasks = int((np.minimum(stays, moves) * problem.home_count).sum())
    return tasks - int(_earned(problem, prices, most_on).sum())


def _earned(problem: MoveProblem, prices: Int64, most_on: Int64) -> Int64:
    """int64[M]: what each machine earns at most by taking tasks at its price, its crowding deducted."""
    paying = np.maximum(prices, 0)
    crowd = np.maximum(problem.crowd, 1)
    # A task pays as long as the crowd that it finds costs less than the price.
    steps = -(-paying // (crowd * problem.step))
    taken = np.where(problem.crowd > 0, steps * problem.step, np.where(prices > 0, most_on, 0))
    taken = np.clip(taken, 0, most_on)
    return prices * taken - problem.crowding(taken)
