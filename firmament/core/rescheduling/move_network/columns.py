"""Where tasks would rather be at given prices of machines: passes over all pairs of rows and groups of machines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.core.rescheduling.move_network.problem import BARRED, MoveProblem

DEAREST = 10**9
"""Prices of machines are cut off here, so that costs and prices together fit 32 bits."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows, and groups of machines that their tasks may come to: int64[A] each, by row, then group, no pair twice."""

    row: Int64
    group: Int64

    def merged(self, other: Columns, groups: int) -> Columns:
        """These and those of another; there are so many ``groups``."""
        keys = np.union1d(self.row * groups + self.group, other.row * groups + other.group)
        return Columns(keys // groups, keys % groups)

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


def cheapest_places(problem: MoveProblem, prices: Int64, limits: Int64, most: Int64) -> tuple[Columns, Int64]:
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
    return Columns(np.repeat(np.arange(problem.rows), count), places), least
