"""Which machines are likely to be used, found at prices that clear a part of the machines.

Prices of the classes say it at once: a machine is wanted if some class would pay more for a place there than the
machine charges. Some thousand machines are enough to find such prices roughly.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.flow.price_estimate.market import FORBIDDEN, Float32, Market, MarketDemand
from firmament.core.flow.price_estimate.newton import balanced, refined
from firmament.core.flow.tuning import PriceTuning


def first_worth(demand: MarketDemand, tuning: PriceTuning) -> Float32:
    """Rough prices of shapes (float32[S]) that clear a part of the machines; NaN for those hardly seen there."""
    newton, some = tuning.newton, _some(demand.problem.machines, tuning.looked_at)
    part = len(some) / demand.problem.machines
    market, present = demand.market(some, part)
    worth = np.full(len(demand.shapes), np.nan, dtype=np.float32)
    if len(present) == 0:
        return worth
    usable = market.cost < FORBIDDEN
    load = _level_load(market, usable, tuning.bisections)
    price = market.stairs.base + market.stairs.growth * load
    rough = balanced(market, price, load, market.stairs.step)
    dearest = (rough[:, None] - market.cost).max(axis=0)
    lacking = market.stairs.base - dearest
    # Where many classes are alike each counts the load of all as its own, and their prices come out too low by as much.
    near = market.at(
        np.flatnonzero(lacking < max(lacking.min(), 0) + tuning.first_reach * market.stairs.step)
    )
    served = np.flatnonzero((near.cost < FORBIDDEN).any(axis=1))
    all_served = Market(near.cost[served], near.tasks[served], near.stairs)
    rough[served] = refined(all_served, rough[served], newton.coarse, newton).worth
    often = np.count_nonzero(usable, axis=1) >= (tuning.rare if part < 1 else 1)
    worth[present[often]] = rough[often]
    return worth


def wanted_machines(demand: MarketDemand, worth: Float32, reach: float) -> tuple[Int64, Float32]:
    """Machines that some shape would like at their prices ``worth`` (float32[S]), or nearly so; ascending.

    Also what the most interested shape would pay there: float32[C]. Shapes without a price (NaN) like all that
    they fit.
    """
    unseen = np.isnan(worth)
    paid = demand.best_offers(~unseen, worth[~unseen])
    liked = np.zeros(demand.problem.machines, dtype=np.bool_)
    for shape in demand.shapes[unseen].tolist():
        liked |= demand.fits[shape]
    liked[demand.stairs.near(paid, reach)] = True
    machines = np.flatnonzero(liked & (demand.stairs.room > 0))
    return machines, paid[machines]


def _some(machines: int, least: int) -> Int64:
    """Rows of some machines, ascending; the same at every call."""
    many = max(least, machines // 10)
    if machines <= 2 * least:
        return np.arange(machines)
    return np.sort(np.random.default_rng(machines).permutation(machines)[:many])


def _level_load(market: Market, usable: Bool, bisections: int) -> Float32:
    """Tasks per machine if all had the mean cost of those that may use it."""
    weights = market.tasks @ usable.astype(np.float32)
    total = market.tasks @ np.where(usable, market.cost, np.float32(0))
    load = water_level_load(
        (total / np.maximum(weights, np.float32(1e-6)) + market.stairs.base).astype(np.float64),
        market.stairs.growth.astype(np.float64),
        np.where(weights > 0, market.stairs.room, 0).astype(np.int64),
        round(float(market.tasks.sum())),
        bisections,
    )
    return load.astype(np.float32)


# --- Fills machines to a common level of cost, as water fills the ground.


def water_level_load(mean: Float64, slope: Float64, room: Int64, tasks: int, bisections: int) -> Int64:
    """Tasks per machine, int64[M], about ``tasks`` in all, if the k-th task of m costs ``mean[m] + slope[m] * k``.

    ``slope`` is positive; no machine takes more than its ``room``, 0 where it cannot be used at all. Where there is not
    room for more than ``tasks``, all of it is taken.
    """
    if tasks >= int(room.sum()):
        return room
    open_ = room > 0
    low = float(mean[open_].min())
    high = float((mean + slope * room)[open_].max()) + 1.0
    for _ in range(bisections):
        level = (low + high) / 2
        if int(_below(level, mean, slope, room).sum()) < tasks:
            low = level
        else:
            high = level
    return _below(high, mean, slope, room)


def _below(level: float, mean: Float64, slope: Float64, room: Int64) -> Int64:
    """Tasks per machine whose cost is at most ``level``."""
    load: Int64 = np.clip(np.floor((level - mean) / slope) + 1, 0, room).astype(np.int64)
    return load
