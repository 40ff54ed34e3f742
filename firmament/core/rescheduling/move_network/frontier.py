"""The frontier: what so many moves save, and what none of as many could exceed, for a price per move over its range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firmament.core.rescheduling.move_network.search import Found, MoveSearch


@dataclass(frozen=True, slots=True)
class Point:
    """Moves that save ``saved`` units, what moving costs deducted; none of as many save more than ``most_saved``."""

    found: Found
    moves: int
    saved: int
    most_saved: int


def frontier(search: MoveSearch, points: int) -> list[Point]:
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


def _point(found: Found, plans: Sequence[Found]) -> Point:
    moves = found.moves.total
    most = min(each.most_saved + each.extra_price * moves for each in plans)
    return Point(found, moves, found.saved + found.extra_price * moves, most)


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
