"""The best plan of at most so many moves: the flow at the price that leaves about so many, then what sizes allow."""

from __future__ import annotations

import numpy as np

from firmament.core.rescheduling.move_network.admission import admitted, gains
from firmament.core.rescheduling.move_network.local_moves import with_local_moves
from firmament.core.rescheduling.move_network.problem import MoveProblem, Moves, saved
from firmament.core.rescheduling.move_network.search import Found, MoveSearch

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
