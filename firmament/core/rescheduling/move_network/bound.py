"""How much any moves could save at most: a Lagrangian bound that holds for all prices of machines.

Each task, by itself, stays at its cost and the price of its machine, or moves to wherever cost, price and the price for
moving are least; each machine, by itself, takes as many tasks as pay. No constraint but the number of tasks on machines
takes part, so the bound holds with all others; how tight it is depends on the prices.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64
from firmament.core.rescheduling.move_network.problem import MoveProblem


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
