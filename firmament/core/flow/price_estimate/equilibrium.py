"""Estimates the prices that a round is likely to end with, before anything is solved.

Column generation is only as good as its first columns, and these are only as good as the machine prices that select
them. Three steps find these prices:

1. *Water-filling* on some of the machines: all waiting tasks count as one class with the mean cost of each machine;
   machines are filled to a common level of cost plus crowding.
2. *Prices of the classes* that clear those machines, by Newton's method with strong smoothing (see ``newton``).
3. Prices of the classes once more, with little smoothing, on all machines that some class would want at these prices.

The estimate only steers the choice of columns. The estimate is never part of a cost, and the certificate does not
depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.flow.heights_and_prices import DualPrices
from firmament.core.flow.price_estimate.continuation import continue_prices
from firmament.core.flow.price_estimate.market import FORBIDDEN, CrowdingSteps, Float32, Market, MarketDemand
from firmament.core.flow.price_estimate.newton import MarketPoint, balance, refine
from firmament.core.flow.problem import PlacementProblem
from firmament.core.flow.residual import Residual, machine_units
from firmament.core.flow.tuning import PriceTuning
from firmament.solvers.base import Int32

UNWANTED = 2**31 - 1
"""Key of a machine that a shape cannot use; the sum of a cost and a narrowed price stays below it."""


Found = tuple[Int64, Market, Int64, MarketPoint | None]
"""What is found: the machines that take part, ascending.

Their market; its shapes' indices; prices, None if the market is empty.
"""


@dataclass(frozen=True, slots=True)
class PriceEstimate:
    """Estimated prices and loads at the end of a round."""

    price: Int64
    """int64[M], price of one more task's place on each machine, in hundredths of a point."""
    load: Int64
    """int64[M], number of tasks on each machine."""
    candidates: Int64
    """Machines that the flow is likely to use, ascending."""
    temperature: float
    """Smoothing (temperature) at which these prices were found, in hundredths of a point."""
    appeal: Float32
    """float32[C], for each candidate, the number of tasks for which it should have columns."""
    sharp: bool = False
    """Whether each price is midway between a machine's last and next step, as exactly as the temperature allows."""
    dual_prices: DualPrices | None = None
    """Dual prices of shapes (numbered as in ledgers) that match the machines' prices, None if these are not sharp."""


_QUIET = np.errstate(invalid="ignore")
"""Silences a false alarm of numpy: a processor flags an invalid operation for all lanes of a register, used or not.
All numbers stay finite, whatever the market (``tests/firmament/core/flow/test_extreme_markets.py``).
"""


@_QUIET
def estimate_prices(residual: Residual, fits: dict[int, Bool], tuning: PriceTuning) -> PriceEstimate:
    """Estimate prices and loads for the waiting tasks.

    ``fits`` maps each waiting shape to ``residual.find_fitting(shape)``.
    """
    problem = residual.problem
    waiting = residual.remaining.sum(axis=1)
    per_shape = np.bincount(problem.shape, weights=waiting, minlength=len(problem.requests)).astype(
        np.float64
    )
    shapes, weight = sample_shapes(problem, per_shape, tuning.sampled_shapes, tuning)
    room = machine_units(residual, np.flatnonzero(waiting))
    base = problem.crowd * residual.placed
    if len(shapes) == 1 or not problem.crowd.any():
        some = sample_shapes(problem, per_shape, tuning.levelled_shapes, tuning)
        load = _mean_load(problem, *some, fits, room, base, tuning.bisections)
        used = np.flatnonzero(load)
        price = base + problem.crowd * load // problem.times()
        return PriceEstimate(price, load, used, 1.0, load[used].astype(np.float32))
    demand = MarketDemand(
        problem, fits, CrowdingSteps.from_problem(problem, base, room, tuning.flattest), shapes, weight
    )
    whole = len(shapes) == np.count_nonzero(per_shape)
    return _settle(demand, room, base, tuning, whole=whole)


def _settle(
    demand: MarketDemand, room: Int64, base: Int64, tuning: PriceTuning, *, whole: bool
) -> PriceEstimate:
    """Return the estimate of prices at which machines take as many tasks as wait."""
    continuing = continue_prices(demand, tuning) if whole else None
    found: Found = continuing or _estimate_anew(demand, tuning, whole=whole)
    machines, market, present, cleared = found
    price, load = base.copy(), np.zeros_like(room)
    if cleared is None:
        return PriceEstimate(price, load, machines, 1.0, np.ones(len(machines), dtype=np.float32))
    charged = np.maximum(cleared.price, market.steps.base)
    price[machines] = np.rint(charged).astype(np.int64)
    load[machines] = np.minimum(np.ceil(cleared.load).astype(np.int64), room[machines])
    doubt = cleared.temperature if whole else max(cleared.temperature, tuning.least_doubt * demand.steps.step)
    # At the price found, the classes' shares sum to 1, even where this price is below what the machine charges.
    short = np.minimum((charged - cleared.price) / np.float32(doubt), tuning.shortest)
    appeal = np.maximum(cleared.load, tuning.least_appeal) * np.exp(short)
    sharp = float(cleared.load.sum()) >= tuning.enough * float(market.tasks.sum())
    dual_prices = (
        DualPrices.from_shapes(demand.problem.map_to_ledgers(demand.shapes[present]), cleared.worth)
        if sharp
        else None
    )
    return PriceEstimate(price, load, machines, doubt, appeal, sharp, dual_prices)


def _estimate_anew(demand: MarketDemand, tuning: PriceTuning, *, whole: bool) -> Found:
    """Return prices estimated without earlier prices; None instead of prices if no shape fits any wanted machine."""
    machines, paid = find_wanted_machines(demand, estimate_first_prices(demand, tuning), tuning.reach)
    market, present = demand.market(machines)
    if len(present) == 0:
        return machines, market, present, None
    expected = np.maximum(market.steps.divide_evenly(paid), tuning.least_load)
    newton = tuning.newton
    many = float(market.tasks.sum()) >= tuning.large or (whole and len(demand.shapes) >= tuning.many)
    begun = balance(market, paid, expected, newton.sharp[0].temperature * demand.steps.step)
    cleared = refine(market, begun, newton.sharpest if many else newton.sharp, newton)
    return machines, market, present, cleared


def _mean_load(
    problem: PlacementProblem,
    shapes: Int64,
    weight: Float64,
    fits: dict[int, Bool],
    room: Int64,
    base: Int64,
    bisections: int,
) -> Int64:
    """Return how many tasks each machine would get if all tasks had the mean cost: int64[M].

    Task k on machine m costs mean[m] + base[m] + crowd[m] k.
    """
    total = np.zeros(problem.machines)
    weights = np.zeros(problem.machines)
    for shape, tasks in zip(shapes.tolist(), weight.tolist(), strict=True):
        usable = fits[shape] * tasks
        weights += usable
        usable *= problem.cost[shape]
        total += usable
    slope = np.maximum(problem.crowd, 1e-3) / problem.times()
    mean = total / np.maximum(weights, 1.0) + base
    return water_level_load(
        mean, slope, np.where(weights > 0, room, 0), round(float(weight.sum())), bisections
    )


def narrow_price(price: Int64) -> Int32:
    """Return prices as int32, cut off where no task would pay them; with 32 bits, partitioning is much faster."""
    return np.minimum(price, UNWANTED // 4).astype(np.int32)


# --- A sample of shapes, used where there are too many shapes to price each of them.
#
# The sampled demand must stay balanced. If sampling drew tasks that suit one kind of machine too often, these
# machines would become too expensive and all others too cheap. Columns would then be chosen at prices that are wrong
# everywhere. Sampling therefore sorts shapes by the machines that they prefer, and draws from that order at even
# distances.


def sample_shapes(
    problem: PlacementProblem, tasks: Float64, most: int, tuning: PriceTuning
) -> tuple[Int64, Float64]:
    """Return at most ``most`` shapes that represent all shapes; ``tasks``: float64[S], waiting tasks of each.

    Shapes are drawn by systematic sampling in proportion to their tasks. Returns shape numbers, ascending, and the
    number of tasks that each of them represents; these numbers sum to the number of waiting tasks.
    """
    present = np.flatnonzero(tasks > 0)
    if len(present) <= most:
        return present, tasks[present]
    present = present[np.argsort(_preferences(problem, present, tuning), kind="stable")]
    total = float(tasks.sum())
    points = (np.arange(most) + 0.5) * (total / most)
    hit = present[np.searchsorted(np.cumsum(tasks[present]), points)]
    shapes, times = np.unique(hit, return_counts=True)
    return shapes.astype(np.int64), times.astype(np.float64) * (total / most)


def _preferences(problem: PlacementProblem, shapes: Int64, tuning: PriceTuning) -> Float64:
    """Return which of two kinds of machines each of ``shapes`` prefers (sign), and how strongly: float64[S'].

    The result is the first principal component (by the power method) of the shapes' costs on some machines, after the
    means of shapes and of machines were subtracted.
    """
    some = np.random.default_rng(problem.machines).permutation(problem.machines)[: tuning.preferences]
    cost = problem.cost.take(some, axis=1)[shapes].astype(np.float64)
    cost -= cost.mean(axis=1)[:, None]
    cost -= cost.mean(axis=0)
    # Do not start with a constant vector: each row sums to 0, so the result would be 0.
    along = cost[np.argmax(np.abs(cost).max(axis=1))]
    preferred: Float64 = np.zeros(len(shapes))
    for _ in range(tuning.power_steps):
        length = float(np.sqrt(along @ along))
        if length == 0.0:  # all shapes prefer the same machines
            break
        preferred = np.einsum("sm,m->s", cost, along / length)
        along = np.einsum("sm,s->m", cost, preferred)
    return preferred


# --- The machines that the flow is likely to use, found at prices that clear some of the machines.
#
# Knowing the prices of classes suffices: a class wants a machine if it would pay more for a place there than the
# machine charges. Some thousand machines are enough to find such prices roughly.


def estimate_first_prices(demand: MarketDemand, tuning: PriceTuning) -> Float32:
    """Return rough prices of shapes that clear a sample of machines: float32[S]; NaN for shapes that fit few."""
    newton, some = tuning.newton, _sample_machines(demand.problem.machines, tuning.looked_at)
    part = len(some) / demand.problem.machines
    market, present = demand.market(some, part)
    worth = np.full(len(demand.shapes), np.nan, dtype=np.float32)
    if len(present) == 0:
        return worth
    usable = market.cost < FORBIDDEN
    load = _level_load(market, usable, tuning.bisections)
    price = market.steps.base + market.steps.growth * load
    rough = balance(market, price, load, market.steps.step)
    dearest = (rough[:, None] - market.cost).max(axis=0)
    lacking = market.steps.base - dearest
    # ``balance`` (a step of Sinkhorn's scaling) compares each class with the load of all classes. As a result,
    # ``balance`` returns prices of n similar classes that are too low by about step x ln(n). The threshold is
    # therefore counted from the machine that lacks least.
    near = market.select(
        np.flatnonzero(lacking < max(lacking.min(), 0) + tuning.first_reach * market.steps.step)
    )
    served = np.flatnonzero((near.cost < FORBIDDEN).any(axis=1))
    all_served = Market(near.cost[served], near.tasks[served], near.steps)
    rough[served] = refine(all_served, rough[served], newton.coarse, newton).worth
    often = np.count_nonzero(usable, axis=1) >= (tuning.rare if part < 1 else 1)
    worth[present[often]] = rough[often]
    return worth


def find_wanted_machines(demand: MarketDemand, worth: Float32, reach: float) -> tuple[Int64, Float32]:
    """Return the machines that some shape wants, or nearly wants, at the prices ``worth`` (float32[S]); ascending.

    Also returns float32: the highest bid of any shape for each of these machines. A shape whose price is unknown
    (NaN) wants all machines on which it fits.
    """
    unseen = np.isnan(worth)
    paid = demand.best_offers(~unseen, worth[~unseen])
    liked = np.zeros(demand.problem.machines, dtype=np.bool_)
    for shape in demand.shapes[unseen].tolist():
        liked |= demand.fits[shape]
    liked[demand.steps.find_near(paid, reach)] = True
    machines = np.flatnonzero(liked & (demand.steps.room > 0))
    return machines, paid[machines]


def _sample_machines(machines: int, least: int) -> Int64:
    """Return rows of a random sample of machines, ascending; equal arguments give equal samples."""
    many = max(least, machines // 10)
    if machines <= 2 * least:
        return np.arange(machines)
    return np.sort(np.random.default_rng(machines).permutation(machines)[:many])


def _level_load(market: Market, usable: Bool, bisections: int) -> Float32:
    """Return how many tasks each machine would get at the mean cost of the tasks that may use it: float32[M]."""
    weights = market.tasks @ usable.astype(np.float32)
    total = market.tasks @ np.where(usable, market.cost, np.float32(0))
    load = water_level_load(
        (total / np.maximum(weights, np.float32(1e-6)) + market.steps.base).astype(np.float64),
        market.steps.growth.astype(np.float64),
        np.where(weights > 0, market.steps.room, 0).astype(np.int64),
        round(float(market.tasks.sum())),
        bisections,
    )
    return load.astype(np.float32)


# --- Water-filling: fills machines to a common level of cost.


def water_level_load(mean: Float64, slope: Float64, room: Int64, tasks: int, bisections: int) -> Int64:
    """Return about ``tasks`` tasks at one level of cost, ``mean[m] + slope[m] * k`` for the k-th on m: int64[M].

    ``slope`` is positive; no machine takes more tasks than its ``room``, which is 0 if no task can use it. If the
    machines together take at most ``tasks`` tasks, all of their room is used.
    """
    if tasks >= int(room.sum()):
        return room
    open_ = room > 0
    low = float(mean[open_].min())
    high = float((mean + slope * room)[open_].max()) + 1.0
    for _ in range(bisections):
        level = (low + high) / 2
        if int(_count_below(level, mean, slope, room).sum()) < tasks:
            low = level
        else:
            high = level
    return _count_below(high, mean, slope, room)


def _count_below(level: float, mean: Float64, slope: Float64, room: Int64) -> Int64:
    """Return how many tasks per machine cost at most ``level``: int64[M]."""
    load: Int64 = np.clip(np.floor((level - mean) / slope) + 1, 0, room).astype(np.int64)
    return load
