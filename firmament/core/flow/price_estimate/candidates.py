"""Which machines are likely to be used, found at prices that clear a part of the machines.

Prices of the classes say it at once: a machine is wanted if some class would pay more for a place there than the
machine charges. Some thousand machines are enough to find such prices roughly.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.flow.price_estimate.market import FORBIDDEN, Float32, Market, Stairs
from firmament.core.flow.price_estimate.newton import balanced, refined
from firmament.core.flow.problem import PlacementProblem
from firmament.core.flow.tuning import PriceTuning

HIGHEST = 2**29
"""Prices of classes are cut off here, and at minus this, so that none leaves 32 bits."""


def first_worth(
    problem: PlacementProblem,
    fits: dict[int, Bool],
    stairs: Stairs,
    shapes: Int64,
    tasks: Float64,
    tuning: PriceTuning,
) -> Float32:
    """Rough prices of ``shapes`` (float32[S]) that clear a part of the machines; NaN for those hardly seen there."""
    newton, some = tuning.newton, _some(problem.machines, tuning.looked_at)
    part = len(some) / problem.machines
    market, present = Market.of(problem, fits, stairs.at(some), some, shapes, tasks * part)
    worth = np.full(len(shapes), np.nan, dtype=np.float32)
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
    found = refined(
        Market(near.cost[served], near.tasks[served], near.stairs),
        rough[served],
        newton.coarse,
        newton,
    )
    rough[served] = found.worth
    often = np.count_nonzero(usable, axis=1) >= (tuning.rare if part < 1 else 1)
    worth[present[often]] = rough[often]
    return worth


def wanted_machines(
    problem: PlacementProblem,
    fits: dict[int, Bool],
    stairs: Stairs,
    shapes: Int64,
    worth: Float32,
    reach: float,
) -> tuple[Int64, Float32]:
    """Machines that some of ``shapes`` would like at their prices ``worth`` (float32[S]), or nearly so; ascending.

    Also what the most interested shape would pay there: float32[C]. Shapes without a price (NaN) like all that
    they fit.
    """
    unseen = np.isnan(worth)
    paid = best_offers(problem, fits, shapes[~unseen], worth[~unseen])
    liked = np.zeros(problem.machines, dtype=np.bool_)
    for shape in shapes[unseen].tolist():
        liked |= fits[shape]
    liked[machines_near(stairs, paid, reach)] = True
    machines = np.flatnonzero(liked & (stairs.room > 0))
    return machines, paid[machines]


def best_offers(problem: PlacementProblem, fits: dict[int, Bool], shapes: Int64, worth: Float32) -> Float32:
    """What the most interested of ``shapes`` would pay for a place at their prices ``worth`` (float32[S]): float32[M].

    Far below every price where none of them fits.
    """
    offer = np.zeros(problem.machines, dtype=np.int32)
    net = np.empty_like(offer)
    for shape, price in zip(shapes.tolist(), worth.tolist(), strict=True):
        # Counted from far below zero, so that 0 is no offer at all.
        np.subtract(
            np.int32(HIGHEST + round(min(max(price, -HIGHEST), HIGHEST))), problem.cost[shape], out=net
        )
        net *= fits[shape]
        np.maximum(offer, net, out=offer)
    offer -= np.int32(HIGHEST)  # before it becomes a float, which so far from zero would be off by dozens
    return offer.astype(np.float32)


def machines_near(stairs: Stairs, paid: Float32, reach: float) -> Int64:
    """Machines with room that are wanted at ``paid`` (float32[M]), or miss it by at most ``reach`` typical steps."""
    return np.flatnonzero((paid > stairs.base - reach * stairs.step) & (stairs.room > 0))


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
