"""Computes what free shares of a device are worth for the usual tasks, as dual prices of a cutting stock problem.

Source: Gilmore and Gomory, A Linear Programming Approach to the Cutting-Stock Problem, Operations Research 9 (1961). A
*pattern* is a set of parts that fit on one device. The linear program covers the usual demand for parts with as few
devices as possible:

    min sum over patterns p of x(p)    such that, for each size z: sum of (parts of z in p) x x(p) >= demand(z)

The program's dual prices say which share of a device a part uses up in a cluster that is filled as well as possible,
whatever size the part has: a part of 0.81 beside which no usual part fits uses a whole device, a part of 0.16 that
fits beside it uses none. A free share is worth as much as the most valuable set of parts that fits into it
(`tabulate_values`).

Shares are counted in cells of a hundredth, rounded down. Whatever fits in truth therefore fits in cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from cost_models.interface import Float64, Int64

CELLS = 100
"""How many cells a whole device has."""
_STEPS_PER_OCTAVE = 4
"""Demands are rounded to such parts of a power of two, so that prices last while usual tasks hardly change."""
_CLOSE = 1e-9
"""How much more than one device a pattern must be worth to enter the linear program."""
_MOST_PIVOTS = 500


def count_cells(shares: Float64) -> Int64:
    """Return how many whole cells shares of a device have: int64, of the shape of ``shares``."""
    return np.minimum((shares * CELLS + 1e-6).astype(np.int64), CELLS)


def value_gaps(demand: Mapping[int, float]) -> Float64:
    """Return what each number of free cells (hundredths of a device) is worth, in devices: float64[CELLS + 1],
    ascending.

    ``demand`` says how many parts of each size, in cells, the usual tasks take; sizes of a whole device and of no cell
    count for nothing. A whole device is worth 1.
    """
    parts = tuple(
        sorted(
            (size, round(float(np.log2(times)) * _STEPS_PER_OCTAVE))
            for size, times in demand.items()
            if 0 < size < CELLS and times > 0
        )
    )
    return _value_rounded(parts)


@lru_cache(maxsize=256)
def _value_rounded(parts: tuple[tuple[int, int], ...]) -> Float64:
    prices = price_sizes({size: 2.0 ** (steps / _STEPS_PER_OCTAVE) for size, steps in parts})
    values = np.array(tabulate_values(prices)[0])
    values[CELLS] = 1.0
    values.flags.writeable = False
    return values


def price_sizes(demand: Mapping[int, float]) -> dict[int, float]:
    """Return the dual price of each size in devices: the most that sizes can be worth if no pattern is worth over 1.

    In the linear program, the whole demand is therefore worth as many devices as it needs at least. Columns are
    generated: while a pattern is worth more than one device, the pattern replaces a column of the basis.
    """
    if not demand:
        return {}
    sizes = sorted(demand)
    columns = np.diag([float(CELLS // size) for size in sizes])
    costs = np.ones(len(sizes))
    covered = np.array([demand[size] for size in sizes]) / columns.diagonal()
    prices: Float64 = costs / columns.diagonal()
    for _ in range(_MOST_PIVOTS):
        column, cost = _find_column(sizes, prices)
        if column is None:
            break
        change = np.linalg.solve(columns, column)
        ratios = np.where(change > _CLOSE, covered / np.where(change > _CLOSE, change, 1.0), np.inf)
        out = int(ratios.argmin())
        step = ratios[out]
        covered = np.maximum(covered - step * change, 0.0)
        covered[out], columns[:, out], costs[out] = step, column, cost
        prices = np.asarray(np.linalg.solve(columns.T, costs), dtype=np.float64)
    prices = np.maximum(prices, 0.0)
    # If the pivots ran out, prices are too high by the factor that the best pattern is worth (Farley, Operations
    # Research 38, 1990).
    worth = tabulate_values(dict(zip(sizes, prices.tolist(), strict=True)))[0][CELLS]
    return dict(zip(sizes, (prices / max(1.0, worth)).tolist(), strict=True))


def _find_column(sizes: list[int], prices: Float64) -> tuple[Float64 | None, float]:
    """Return a column that lowers the linear program's value (a pattern, or parts that nobody needs), and its cost."""
    column = np.zeros(len(sizes))
    least = int(prices.argmin())
    if prices[least] < -_CLOSE:
        column[least] = -1.0
        return column, 0.0
    values, last = tabulate_values(dict(zip(sizes, prices.tolist(), strict=True)))
    if values[CELLS] <= 1.0 + _CLOSE:
        return None, 0.0
    left = CELLS
    while left:
        size = last[left]
        if size:
            column[sizes.index(size)] += 1.0
        left -= size or 1
    return column, 1.0


def tabulate_values(prices: Mapping[int, float]) -> tuple[list[float], list[int]]:
    """Return the worth of the most valuable set of parts for 0 to `CELLS` free cells, and the size of one part.

    A size of 0 says that the same set also fits into one cell less.
    """
    values, last = [0.0] * (CELLS + 1), [0] * (CELLS + 1)
    for cells in range(1, CELLS + 1):
        best, chosen = values[cells - 1], 0
        for size, price in prices.items():
            if size <= cells and price + values[cells - size] > best:
                best, chosen = price + values[cells - size], size
        values[cells], last[cells] = best, chosen
    return values, last
