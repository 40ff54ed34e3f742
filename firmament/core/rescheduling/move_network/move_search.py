"""Finds the moves that save most at a price per move, with a proof, by column generation over homes and columns.

Also plans at such prices: the best plan of a limited number of moves, and what any number of moves could save.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.flow.generation_loop import generate_columns
from firmament.core.rescheduling.move_network.local_moves import add_local_moves
from firmament.core.rescheduling.move_network.network import (
    FAR,
    MoveNetwork,
    build_move_network,
    machine_prices,
)
from firmament.core.rescheduling.move_network.problem import (
    DEAREST,
    MoveColumns,
    MoveProblem,
    Moves,
    cheapest_places,
    compute_gains,
    compute_saved,
    find_admitted,
    group_prices,
    least_cost,
    least_costs,
)
from firmament.solvers.base import Solver


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """The size of the network at first, and how much is added in each later step.

    Each row begins with ``first`` columns, plus one for each task that would cost less elsewhere. In each of at most
    ``iterations`` iterations, ``more`` columns are added, plus a quarter of the number of such tasks. Each machine may
    become fuller by ``steps`` tasks at first, and by ``wider`` times as many once these are used up. The search ends
    when the bound exceeds what is saved by at most the part ``gap`` of it.
    """

    first: int = 30
    more: int = 10
    iterations: int = 16
    steps: int = 4
    wider: int = 4
    gap: float = 0.0


@dataclass(frozen=True, slots=True)
class Found:
    """The best moves at a price per move, with a bound that proves it.

    Sizes of tasks and rules between tasks are ignored.
    """

    extra_price: int
    """Units of cost that each move has to save in addition to its row's price."""
    moves: Moves
    """The moves that save most."""
    saved: int
    """Units of cost that the moves save beyond ``extra_price`` for each."""
    most_saved: int
    """Upper bound on what any set of moves saves, in units of cost."""
    prices: Int64
    """int64[M], prices of machines that prove the bound."""
    least: Int64
    """int64[R], result of ``least_costs`` at these prices."""
    columns: MoveColumns
    """Columns of the network, with which the search at another price begins."""
    homes: Int64
    """int64[H], homes (tasks of one row on one machine) in the network."""
    solves: int
    """Number of times that the solver was called."""


class MoveSearch:
    """Finds the moves that pay, for one price per move after another; falling prices reuse earlier results."""

    def __init__(self, problem: MoveProblem, solver: Solver, options: SearchOptions) -> None:
        self.problem, self.solver, self.options = problem, solver, options
        #: int64[M] each: an upper bound on the tasks of each machine, and their present number.
        self.most_on, self.there = problem.most_on(), problem.tasks_on()
        #: Present cost of all tasks, in hundredths of a point.
        self.now = problem.cost_now()
        #: int64[M]: crowding cost of one more task on each machine.
        self.marginal = problem.marginal(np.arange(problem.machine_count), self.there)
        #: bool[M]: machines that take no more tasks.
        self.full = self.there >= self.most_on

    def find_moves(self, extra_price: int, before: Found | None = None) -> Found:
        """Return the moves with the largest net saving if each costs ``extra_price`` in addition to its row's price.

        ``before``: the result at another price. Errors of the solver are raised.
        """
        return _MoveGeneration(self, extra_price, before).run()

    def gains_alone(self) -> Int64:
        """Return the cost units that each task would gain if it alone moved: int64[T]; negative for a loss."""
        problem = self.problem
        at_home = problem.marginal(problem.home_machine, self.there[problem.home_machine] - 1)
        least = least_costs(problem, np.where(self.full, DEAREST, self.marginal))
        gain = problem.home_cost + at_home - problem.price[problem.home_row] - least[problem.home_row]
        return np.repeat(gain, problem.home_count)


@dataclass(frozen=True, slots=True)
class _SolvedMoves:
    """A network of moves with its flow, its prices (int64[M]) and the units of cost that the flow saves."""

    network: MoveNetwork
    flows: Int64
    prices: Int64
    saved: int


class _MoveGeneration:
    """Column generation at one price: the columns and homes so far, and the bound proved so far."""

    def __init__(self, search: MoveSearch, extra_price: int, before: Found | None) -> None:
        self._search, self._problem, self._options = search, search.problem, search.options
        self._extra = extra_price
        problem, options = self._problem, self._options
        self._begin = search.marginal if before is None else before.prices
        self._least = least_costs(problem, self._begin) if before is None else before.least
        self._homes = np.empty(0, dtype=np.int64) if before is None else before.homes
        self._eager = self._count_eager(self._begin)
        limits, first = self._worth(self._begin), options.first + self._eager.astype(np.int64)
        self._columns, self._least = cheapest_places(problem, self._begin, limits, first)
        if before is not None:
            self._columns = self._columns.merge(before.columns, problem.group_count)
        self._most_saved = self._compute_bound(self._begin, self._least)
        self._steps = np.full(problem.machine_count, options.steps, dtype=np.int64)
        self._solves = 0

    def run(self) -> Found:
        """Solve, price and widen the network until the proof is tight enough, or iterations run out."""
        found, proved = generate_columns(self, self._solve(self._begin), self._options.iterations)
        prices = found.prices
        if not proved:
            # If several prices are valid in the network, another price may give a better bound for the moves outside
            # it.
            lower = self._prices(found.network, found.flows, greatest=False)
            least = least_costs(self._problem, lower)
            bound = self._compute_bound(lower, least)
            if bound < self._most_saved:
                self._most_saved, prices, self._least = bound, lower, least
        moves = found.network.moves(self._problem, found.flows)
        proof = self._most_saved, prices, self._least
        return Found(self._extra, moves, found.saved, *proof, self._columns, self._homes, self._solves)

    def price(self, flow: _SolvedMoves) -> MoveColumns | None:
        """Return columns where tasks would cost less, or None if the flow saves all that can be saved."""
        limits = np.minimum(self._worth(flow.prices), self._cheapest(flow.prices))
        more = self._options.more + (self._eager / 4).astype(np.int64)
        wanted, self._least = cheapest_places(self._problem, flow.prices, limits, more)
        self._most_saved = min(self._most_saved, self._compute_bound(flow.prices, self._least))
        return None if self._most_saved - flow.saved <= self._options.gap * flow.saved else wanted

    def widen(self, flow: _SolvedMoves, missing: MoveColumns) -> _SolvedMoves:
        """Return a flow with the missing columns; machines that used up their steps may become fuller."""
        self._columns = self._columns.merge(missing, self._problem.group_count)
        self._steps[flow.network.find_exhausted(flow.flows)] *= self._options.wider
        return self._solve(flow.prices)

    def _solve(self, prices: Int64) -> _SolvedMoves:
        """Return an optimal flow over the known arcs, and the homes that tasks would leave at ``prices``."""
        search = self._search
        self._homes = np.union1d(self._homes, self._leaving(prices))
        network = build_move_network(
            self._problem, self._homes, self._columns, self._extra, search.most_on, self._steps
        )
        flows = search.solver.solve(network.flow).flows
        self._solves += 1
        saved = -int((network.flow.costs * flows).sum())
        return _SolvedMoves(network, flows, self._prices(network, flows), saved)

    def _compute_bound(self, prices: Int64, least: Int64) -> int:
        """Return an upper bound on the units that any moves save, by any prices and ``least_costs`` at these."""
        return self._search.now - least_cost(self._problem, prices, least, self._extra, self._search.most_on)

    def _compute_paid(self, prices: Int64) -> Int64:
        """Return what a task of each home could pay for another place without a loss: int64[P], in units of cost."""
        problem = self._problem
        stays = problem.home_cost + prices[problem.home_machine]
        paid: Int64 = stays - problem.price[problem.home_row] - self._extra
        return paid

    def _leaving(self, prices: Int64) -> Int64:
        """Return the homes that some task would leave for another place at these prices."""
        return np.flatnonzero(self._compute_paid(prices) > self._least[self._problem.home_row])

    def _count_eager(self, prices: Int64) -> Float64:
        """Return how many tasks of each row would move elsewhere at these prices: float64[R]."""
        problem, homes = self._problem, self._leaving(prices)
        eager: Float64 = np.zeros(problem.row_count)
        np.add.at(eager, problem.home_row[homes], problem.home_count[homes])
        return eager

    def _worth(self, prices: Int64) -> Int64:
        """Return for each row the cost below which moving there is worthwhile for at least one task: int64[R]."""
        most = np.full(self._problem.row_count, -FAR)
        np.maximum.at(most, self._problem.home_row, self._compute_paid(prices))
        return most

    def _cheapest(self, prices: Int64) -> Int64:
        """Return the cost of the cheapest column of each row: int64[R]."""
        columns, least = self._columns, np.full(self._problem.row_count, FAR)
        charged = group_prices(self._problem, prices)
        cost = self._problem.cost[columns.row, columns.group] + charged[columns.group]
        np.minimum.at(least, columns.row, cost)
        return least

    def _prices(self, network: MoveNetwork, flows: Int64, *, greatest: bool = True) -> Int64:
        """Return the prices of machines by the network or, outside it, by what one more task would cost there.

        The result is int64[M]. A full machine costs what its first task would have to be paid to leave; a full machine
        without tasks is closed. Of the network's valid prices, the ``greatest`` are taken: machines outside the network
        then attract less, so fewer columns are missing.
        """
        problem, search = self._problem, self._search
        prices = search.marginal.copy()
        first = np.full(problem.machine_count, FAR)
        worth = (
            problem.price[problem.home_row] + self._extra + self._least[problem.home_row] - problem.home_cost
        )
        np.minimum.at(first, problem.home_machine, worth)
        np.copyto(prices, np.maximum(prices, first), where=search.full)
        low, high = machine_prices(network, flows)
        there = prices[network.machines]
        if greatest:
            prices[network.machines] = np.where(high < FAR, high, np.maximum(there, low))
        else:
            prices[network.machines] = np.where(low > -FAR, low, there)
        clipped: Int64 = np.clip(prices, 0, DEAREST)
        return clipped


# --- The best plan of a limited number of moves: the flow at the price with about as many moves, adapted to sizes.


_PRICES = 8
"""Number of bisections of the range of prices; the number of moves hardly changes between the last two."""


def best_moves(
    problem: MoveProblem, search: MoveSearch, extra_price: int, *, most: int, local_moves: int
) -> tuple[Moves, Found]:
    """Return at most ``most`` single moves that fit together and save most beyond ``extra_price`` for each.

    Also returns the flow at ``extra_price``, whose bound holds for any number of moves. ``local_moves``: how many local
    moves are tried in addition to the flow's moves. Errors of the solver are raised.
    """
    found = search.find_moves(extra_price)
    best = _fitting(problem, found, extra_price, most, local_moves)
    if found.moves.total <= most:
        return best, found
    low, high = extra_price, max(extra_price, int(search.gains_alone().max(initial=0)))
    for _ in range(_PRICES):
        middle = (low + high) // 2
        tried = search.find_moves(middle)
        if tried.moves.total > most:
            low = middle
        else:
            high = middle
        fitting = _fitting(problem, tried, extra_price, most, local_moves)
        best = max(
            (best, fitting), key=lambda moves: compute_saved(problem, moves) - extra_price * moves.total
        )
    return best, found


def _fitting(problem: MoveProblem, found: Found, extra_price: int, most: int, local_moves: int) -> Moves:
    """Return the flow's moves as far as they fit, the most profitable ones if not all fit, with local moves added."""
    single = found.moves.one_by_one()
    single = single.select(np.flatnonzero(find_admitted(problem, single)))
    if single.total > most:
        order = np.lexsort((single.target, single.source, single.row, -compute_gains(problem, single)))
        single = single.select(np.flatnonzero(find_admitted(problem, single, without=order[most:].tolist())))
    return add_local_moves(problem, single, extra_price, tries=local_moves, most=most)


# --- The frontier: what a number of moves saves, and an upper bound for that number, over the range of prices per move.


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """Moves that save ``saved`` units without their price; no equal number of moves saves more than ``most_saved``."""

    found: Found
    moves: int
    saved: int
    most_saved: int


def compute_frontier(search: MoveSearch, points: int) -> list[FrontierPoint]:
    """Return the plans at ``points`` prices per move, from few moves to all that pay.

    Prices fall evenly over the gains of single moves, so that from point to point, about equally many moves are
    added. A plan that is optimal at a price p is the best of its number k of moves. No plan of any other number n
    saves more than that plan does at price p, plus p for each of the n moves. The bound of a point is therefore the
    least of the bounds by all prices. Errors of the solver are raised.
    """
    plans: list[Found] = []
    before: Found | None = None
    for price in _falling_prices(search, points):
        before = search.find_moves(price, before)
        plans.append(before)
    return [_point(each, plans) for each in plans]


def _point(found: Found, plans: Sequence[Found]) -> FrontierPoint:
    moves = found.moves.total
    most = min(each.most_saved + each.extra_price * moves for each in plans)
    return FrontierPoint(found, moves, found.saved + found.extra_price * moves, most)


def _falling_prices(search: MoveSearch, points: int) -> list[int]:
    """Return prices per move, falling: quantiles of what tasks would gain by moving alone, and finally 0."""
    gains = search.gains_alone()
    gains = gains[gains > 0]
    if not len(gains):
        return [0]
    shares = np.linspace(0.0, 1.0, points + 1)[1:]
    # Small numbers of moves are as interesting as large ones, so the shares grow as squares.
    quantiles = np.quantile(gains, 1.0 - shares**2, method="lower").astype(np.int64)
    quantiles[-1] = 0
    prices = np.unique(quantiles)
    if len(prices) < points:  # many tasks gain the same; gains of chains and crowds lie between
        even = np.linspace(0, int(gains.max()), points - len(prices) + 2).astype(np.int64)
        prices = np.union1d(prices, even[1:-1])
    falling: list[int] = prices[::-1].tolist()
    return falling
