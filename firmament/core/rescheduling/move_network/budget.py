"""Plans at prices per move: the best of at most so many moves, and what any number of them could save."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firmament.core.rescheduling.move_network.local_moves import with_local_moves
from firmament.core.rescheduling.move_network.move_search import Found, MoveSearch
from firmament.core.rescheduling.move_network.problem import MoveProblem, Moves, admitted, gains, saved

# --- The best plan of at most so many moves: the flow at the price that leaves about so many, then what sizes allow.


_PRICES = 8
"""Halvings of the range of prices: the number of moves hardly changes between the last two."""


def best_moves(
    problem: MoveProblem, search: MoveSearch, extra_price: int, *, most: int, local_moves: int
) -> tuple[Moves, Found]:
    """Return single moves, at most so many, that fit together and save most beyond ``extra_price`` for each.

    Also returns the flow at that price, whose bound holds for any number of moves. Raises what the solver raises.

    ``local_moves``: how many are tried beyond the flow's.
    """
    found = search.at(extra_price)
    best = _fitting(problem, found, extra_price, most, local_moves)
    if found.moves.total <= most:
        return best, found
    low, high = extra_price, max(extra_price, int(search.gains_alone().max(initial=0)))
    for _ in range(_PRICES):
        middle = (low + high) // 2
        tried = search.at(middle)
        if tried.moves.total > most:
            low = middle
        else:
            high = middle
        fitting = _fitting(problem, tried, extra_price, most, local_moves)
        best = max((best, fitting), key=lambda moves: saved(problem, moves) - extra_price * moves.total)
    return best, found


def _fitting(problem: MoveProblem, found: Found, extra_price: int, most: int, local_moves: int) -> Moves:
    """The flow's moves as far as they fit, those that gain most if they are too many, and single ones beside them."""
    single = found.moves.one_by_one()
    single = single.chosen(np.flatnonzero(admitted(problem, single)))
    if single.total > most:
        order = np.lexsort((single.target, single.source, single.row, -gains(problem, single)))
        single = single.chosen(np.flatnonzero(admitted(problem, single, without=order[most:].tolist())))
    return with_local_moves(problem, single, extra_price, tries=local_moves, most=most)


# --- The frontier: what so many moves save, and what none of as many could exceed, for a price per move over its range.


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """Moves that save ``saved`` units, what moving costs deducted; none of as many save more than ``most_saved``."""

    found: Found
    moves: int
    saved: int
    most_saved: int


def frontier(search: MoveSearch, points: int) -> list[FrontierPoint]:
    """Return the plans at so many prices per move, from few moves to all that pay. Raises what the solver raises.

    Prices fall evenly over what single moves gain, so that about as many moves join from point to point. A plan that is
    optimal at a price p is the best of its number k of moves; for any other number n no plan saves more than it does at
    that price, and p for each move: the bound of a point is the least of what all prices say of it.
    """
    plans: list[Found] = []
    before: Found | None = None
    for price in _falling_prices(search, points):
        before = search.at(price, before)
        plans.append(before)
    return [_point(each, plans) for each in plans]


def _point(found: Found, plans: Sequence[Found]) -> FrontierPoint:
    moves = found.moves.total
    most = min(each.most_saved + each.extra_price * moves for each in plans)
    return FrontierPoint(found, moves, found.saved + found.extra_price * moves, most)


def _falling_prices(search: MoveSearch, points: int) -> list[int]:
    """Prices per move: quantiles of what tasks would gain by moving alone, and 0 in the end."""
    gains = search.gains_alone()
    gains = gains[gains > 0]
    if not len(gains):
        return [0]
    shares = np.linspace(0.0, 1.0, points + 1)[1:]
    # A few moves are as interesting as many: the number of moves grows by squares.
    quantiles = np.quantile(gains, 1.0 - shares**2, method="lower").astype(np.int64)
    quantiles[-1] = 0
    prices = np.unique(quantiles)
    if len(prices) < points:  # many gain the same; what they gain in chains, or in a crowd, lies between
        even = np.linspace(0, int(gains.max()), points - len(prices) + 2).astype(np.int64)
        prices = np.union1d(prices, even[1:-1])
    falling: list[int] = prices[::-1].tolist()
    return falling
