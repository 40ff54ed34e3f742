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
from firmament.flow.candidates import best_offers, machines_near
from firmament.flow.market import Float32, Market, Stairs
from firmament.flow.problem import PlacementProblem
from firmament.flow.refinement import SHARPEST, Cleared, continued

ENOUGH_KNOWN = 0.9
"""Earlier prices are used if they are known for the shapes of this share of the tasks."""

REACH = 0.7
"""Machines take part that are so many typical steps from being wanted; these prices are closer than rough ones."""

MOST_MOVED = 8.0
"""Typical steps by which the common level may have moved; beyond that, the picture is another one altogether."""

BISECTIONS = 11
"""Halvings of twice that range: the level is then exact to a hundredth of a step."""

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
        charged = np.maximum(paid, stairs.base)
        for place in new.tolist():
            worth[place] = _worth_at(problem, fits, charged, int(shapes[place]), float(tasks[place]))
        if np.isnan(worth).any():
            return None
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
    return float(stairs.evenly(paid + np.float32(level)).sum()) < tasks


def _worth_at(
    problem: PlacementProblem, fits: dict[int, Bool], charged: Float32, shape: int, tasks: float
) -> np.float32:
    """What ``tasks`` tasks of a shape would pay if machines charged as much; NaN if it fits nowhere.

    They would not all go to the cheapest machine: it is what half of them pay at most, each on a machine of its own.
    """
    usable = np.flatnonzero(fits[shape])
    if len(usable) == 0:
        return np.float32(np.nan)
    price = problem.cost[shape, usable] + charged[usable]
    half = min(int(tasks / 2), len(usable) - 1)
    return np.float32(np.partition(price, half)[half])
