"""Starts the expected prices of a round from what shapes were worth in an earlier one.

From round to round the prices of the shapes move together: as load grows all rise, and differences between them hardly
change. So one number has to be found anew, the level at which machines take as many tasks as wait; shapes that are new
are priced by what machines charge at that level. From there prices are exact enough for Newton's method to begin with
little smoothing, on the machines that are wanted at them. Where they turn out to mislead, nothing is returned, and
prices are found afresh.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.flow.price_estimate.candidates import best_offers, machines_near
from firmament.core.flow.price_estimate.market import Float32, Market, Stairs
from firmament.core.flow.price_estimate.newton import SHARPEST, Cleared, continued
from firmament.core.flow.price_estimate.smoothed_market import smoothed_loads
from firmament.core.flow.problem import PlacementProblem

ENOUGH_KNOWN = 0.9
"""Earlier prices are used if they are known for the shapes of this share of the tasks."""

REACH = 0.7
"""Machines take part that are so many typical steps from being wanted; these prices are closer than rough ones."""

MOST_MOVED = 8.0
"""Typical steps by which the common level may have moved; beyond that, the snapshot is another one altogether."""

BISECTIONS = 11
"""Halvings of twice that range: the level is then exact to a hundredth of a step."""

NEW_RANGE = 2.0
"""Typical steps around what the cheapest machine would charge it within which a new shape's price is looked for."""

NEW_BISECTIONS = 10
"""Halvings of twice that range: the price is then exact to less than the smoothing."""

FARTHEST = np.float32(50.0)
"""Temperatures beyond which the better of two offers gets everything."""

MISLEADING = 0.8
"""Share of the tasks by which classes have too few or too many places at the earlier prices, beyond which it is quicker
to start afresh."""


def continued_prices(
    problem: PlacementProblem, fits: dict[int, Bool], stairs: Stairs, shapes: Int64, tasks: Float64
) -> tuple[Int64, Market, Int64, Cleared] | None:
    """Sharp prices of ``shapes``, of each of which ``tasks`` (float64[S]) wait, found from ``problem.worths``.

    Returns the machines that take part, ascending, their market, the places in ``shapes`` of those that it has, and
    the prices; None if too little is known, or if it misleads.
    """
    worth = _known(problem, shapes, tasks)
    if worth is None:
        return None
    known = ~np.isnan(worth)
    paid = best_offers(problem, fits, shapes[known], worth[known])
    level = _common_level(stairs, paid, float(tasks.sum()))
    if level is None:
        return None
    worth += level
    paid += level
    new = np.flatnonzero(~known)
    if len(new):
        for place in new.tolist():
            usable = np.flatnonzero(fits[int(shapes[place])])
            if len(usable) == 0:
                return None
            cost = problem.cost[shapes[place], usable].astype(np.float32)
            worth[place] = _worth_beside(stairs.at(usable), paid[usable], cost, float(tasks[place]))
        paid = np.maximum(paid, best_offers(problem, fits, shapes[new], worth[new]))
    machines = machines_near(stairs, paid, REACH)
    market, present = Market.of(problem, fits, stairs.at(machines), machines, shapes, tasks)
    if len(present) < len(shapes):
        return None  # some shape fits none of the machines that others want
    found = continued(market, worth[present], SHARPEST[-1], most_lacking=MISLEADING)
    return None if found is None else (machines, market, present, found)


def _known(problem: PlacementProblem, shapes: Int64, tasks: Float64) -> Float32 | None:
    """Earlier prices of ``shapes``, NaN for those without one; None if they are known for too few tasks."""
    if problem.worths is None:
        return None
    worth = problem.worths.at(problem.known_as(shapes))
    share = float(tasks[~np.isnan(worth)].sum()) / float(tasks.sum())
    return worth if share >= ENOUGH_KNOWN else None


def _common_level(stairs: Stairs, paid: Float32, tasks: float) -> np.float32 | None:
    """How far all prices have to move for machines to take ``tasks``; ``paid``: float32[M], offers at earlier prices.

    None if that is further than ``MOST_MOVED``.
    """
    most = MOST_MOVED * stairs.step
    low, high = -most, most
    near = machines_near(stairs, paid, MOST_MOVED)
    stairs, paid = stairs.at(near), paid[near]
    if not _takes_fewer(stairs, paid, low, tasks) or _takes_fewer(stairs, paid, high, tasks):
        return None
    for _ in range(BISECTIONS):
        level = (low + high) / 2
        if _takes_fewer(stairs, paid, level, tasks):
            low = level
        else:
            high = level
    return np.float32(high)


def _takes_fewer(stairs: Stairs, paid: Float32, level: float, tasks: float) -> bool:
    """Whether machines take fewer than ``tasks`` if ``level`` more than ``paid`` is offered."""
    return float(_load(stairs, paid + np.float32(level)).sum()) < tasks


def _worth_beside(stairs: Stairs, paid: Float32, cost: Float32, tasks: float) -> np.float32:
    """Price at which ``tasks`` tasks of a shape find places beside those who offer ``paid``, all float32[M], M > 0.

    A machine takes as many tasks as the better offer pays for, and shares them out between the two by the smoothed
    choice of ``refinement``.
    """
    key = cost + np.maximum(paid, stairs.base)
    least = float(key.min())
    near = np.flatnonzero(key < least + NEW_RANGE * stairs.step)
    stairs, paid, cost = stairs.at(near), paid[near], cost[near]
    temperature = SHARPEST[-1].temperature * stairs.step
    low, high = least - NEW_RANGE * stairs.step, least + NEW_RANGE * stairs.step
    for _ in range(NEW_BISECTIONS):
        worth = (low + high) / 2
        offer = np.float32(worth) - cost
        beaten = np.clip((paid - offer) / np.float32(temperature), -FARTHEST, FARTHEST)
        if float((_load(stairs, np.maximum(paid, offer)) / (1 + np.exp(beaten))).sum()) < tasks:
            low = worth
        else:
            high = worth
    return np.float32(high)


def _load(stairs: Stairs, price: Float32) -> Float32:
    """Tasks that machines take at ``price``; as slopes, stairs would let them take parts of steps nobody pays for."""
    return smoothed_loads(stairs, price, np.float32(SHARPEST[-1].width))[0]
