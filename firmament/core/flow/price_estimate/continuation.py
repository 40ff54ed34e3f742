"""Estimates the prices of a round from the prices that shapes had in an earlier round.

From round to round the prices of shapes move together: when load grows, all of them rise, and their differences
hardly change. A round must therefore find only one number anew: the level of prices at which machines take as many
tasks as wait. New shapes get a price from what machines charge at that level. Shifted to the common level, the
earlier prices are so exact that Newton's method can begin with little smoothing, on the machines that some shape
wants at these prices. If the prices turn out to mislead, the result is None, and the caller estimates prices from
scratch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.core.flow.price_estimate.market import CrowdingSteps, Float32, Market, MarketDemand
from firmament.core.flow.price_estimate.newton import MarketPoint, continue_from, smooth_loads
from firmament.core.flow.tuning import ContinuationTuning, PriceTuning, Smoothing


def continue_prices(
    demand: MarketDemand, prices: PriceTuning
) -> tuple[Int64, Market, Int64, MarketPoint] | None:
    """Return sharp prices of shapes, derived from the problem's ``dual_prices``, or None.

    The result consists of the machines that take part (ascending), their market, indices of the market's shapes, and
    the prices. The function returns None if earlier prices cover too few tasks, or if they mislead.
    """
    tuning, finest = prices.continuation, prices.newton.sharpest[-1]
    steps, shapes, tasks = demand.steps, demand.shapes, demand.tasks
    price = _find_known(demand, tuning.enough_known)
    if price is None:
        return None
    known = ~np.isnan(price)
    paid = demand.best_offers(known, price[known])
    price_of = _Pricing(tuning, finest)
    level = price_of.common_level(steps, paid, float(tasks.sum()))
    if level is None:
        return None
    price += level
    paid += level
    new = np.flatnonzero(~known)
    if len(new):
        for place in new.tolist():
            usable = np.flatnonzero(demand.fits[int(shapes[place])])
            if len(usable) == 0:
                return None
            cost = demand.problem.cost[shapes[place], usable].astype(np.float32)
            price[place] = price_of.price_beside(
                steps.select(usable), paid[usable], cost, float(tasks[place])
            )
        paid = np.maximum(paid, demand.best_offers(new, price[new]))
    machines = steps.find_near(paid, tuning.reach)
    market, present = demand.market(machines)
    if len(present) < len(shapes):
        return None  # some shape fits none of the machines that the other shapes want
    found = continue_from(market, price[present], finest, prices.newton, most_lacking=tuning.misleading)
    return None if found is None else (machines, market, present, found)


def _find_known(demand: MarketDemand, enough: float) -> Float32 | None:
    """Return the earlier prices of shapes: float32[S]; NaN where no price is known.

    The result is None if the known prices cover too few tasks.
    """
    problem, tasks = demand.problem, demand.tasks
    if problem.dual_prices is None:
        return None
    price = problem.dual_prices.get(problem.map_to_ledgers(demand.shapes))
    share = float(tasks[~np.isnan(price)].sum()) / float(tasks.sum())
    return price if share >= enough else None


@dataclass(frozen=True, slots=True)
class _Pricing:
    """Finds prices by bisection; loads are smoothed as finely as in the last step of Newton's method."""

    _tuning: ContinuationTuning
    _finest: Smoothing

    def common_level(self, steps: CrowdingSteps, paid: Float32, tasks: float) -> np.float32 | None:
        """Return by how much all earlier prices must rise or fall so that machines take ``tasks`` tasks.

        ``paid``: float32[M], the highest bid for each machine at earlier prices. The result is None if prices would
        have to move by more than ``most_moved``.
        """
        most = self._tuning.most_moved * steps.step
        low, high = -most, most
        near = steps.find_near(paid, self._tuning.most_moved)
        steps, paid = steps.select(near), paid[near]
        if not self._takes_fewer(steps, paid, low, tasks) or self._takes_fewer(steps, paid, high, tasks):
            return None
        for _ in range(self._tuning.bisections):
            level = (low + high) / 2
            if self._takes_fewer(steps, paid, level, tasks):
                low = level
            else:
                high = level
        return np.float32(high)

    def _takes_fewer(self, steps: CrowdingSteps, paid: Float32, level: float, tasks: float) -> bool:
        """Return whether machines take fewer than ``tasks`` tasks if each is offered ``level`` more than ``paid``."""
        return float(self._load(steps, paid + np.float32(level)).sum()) < tasks

    def price_beside(self, steps: CrowdingSteps, paid: Float32, cost: Float32, tasks: float) -> np.float32:
        """Return the price at which ``tasks`` tasks of a new shape find places among tasks that bid ``paid``.

        ``paid``, ``cost``: float32[M], M > 0.

        A machine takes as many tasks as the better bid pays for. It divides these places between the two bids by
        the smoothed choice that ``newton.py`` defines.
        """
        key = cost + np.maximum(paid, steps.base)
        least = float(key.min())
        near = np.flatnonzero(key < least + self._tuning.new_range * steps.step)
        steps, paid, cost = steps.select(near), paid[near], cost[near]
        temperature = self._finest.temperature * steps.step
        low, high = least - self._tuning.new_range * steps.step, least + self._tuning.new_range * steps.step
        for _ in range(self._tuning.new_bisections):
            price = (low + high) / 2
            bid = np.float32(price) - cost
            beaten = np.clip(
                (paid - bid) / np.float32(temperature), -self._tuning.farthest, self._tuning.farthest
            )
            if float((self._load(steps, np.maximum(paid, bid)) / (1 + np.exp(beaten))).sum()) < tasks:
                low = price
            else:
                high = price
        return np.float32(high)

    def _load(self, steps: CrowdingSteps, price: Float32) -> Float32:
        """Return how many tasks machines take at ``price``.

        A crowding step counts only if ``price`` covers its cost.
        """
        return smooth_loads(steps, price, np.float32(self._finest.width))[0]
