"""Prices that a round is likely to end with, before anything is solved.

Column generation is only as good as its first columns, and those are only as good as the machine prices they are
chosen at. Three steps find them:

1. *Water-filling*: all waiting tasks are taken for one class with the mean cost of each machine; machines are filled
   to a common level of cost plus crowding.
2. *Softened equilibrium*: each shape spreads its tasks over machines in proportion to exp(-(cost + price) / T), and
   each price moves towards the crowding that the resulting load causes. T falls from several crowding steps to a
   third of one, in a few sweeps. This is the stochastic user equilibrium of a congestion game (Fisk 1980); its loads
   approach those of the optimal flow as T falls. Prices that would overfill a machine rise by T log(load / room), as
   in Sinkhorn's scaling.
3. *Newton's method* on the classes' prices, at a T of a few hundredths of a crowding step (see ``refinement``).

The result steers the choice of columns only. It is never part of a cost, and the certificate does not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Float64, Int64
from firmament.flow.problem import PlacementProblem, Residual
from firmament.flow.refinement import (
    COARSE_LEVELS,
    FORBIDDEN,
    Cleared,
    Market,
    refined,
    refined_from,
    sampled,
)
from firmament.solvers.base import Int32

Float32 = NDArray[np.float32]

SAMPLED_SHAPES = 96
LEVELLED_SHAPES = 32
"""Shapes that stand for all in the equilibrium and, where a mean is all that counts, in the water-filling."""

LOOKED_AT = 2_500
"""Machines from which it is estimated how cheap the cheapest few are for a shape."""

BISECTIONS = 24
SWEEPS = 5
FIRST_TEMPERATURE, LAST_TEMPERATURE = 8.0, 0.35
"""In units of the median crowding step."""

FLATTEST = 0.02
"""Machines whose crowding grows by less than this part of a typical step are treated as if it were that."""

ENOUGH = 0.98
"""Prices are sharp if machines take this share of the tasks at them; otherwise room is scarce, or they are wrong."""

LARGE, SAMPLED_FROM = 20_000, 2_000
"""Tasks and likely machines from which on prices are sharpened further."""

LEAST_DOUBT = 0.04
"""Prices are taken to be no more exact than this part of a typical step: the optimum fixes them only up to a range."""

UNWANTED = 2**31 - 1
"""Key of a machine that a shape cannot use; costs and narrowed prices together stay below it."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Expected end of a round: ``price``, ``load``: int64[M], units and tasks per machine.

    ``candidates``: machines that are likely to be used, ascending; ``temperature``: the last one, in units;
    ``sharp``: prices are at about the middle of what the machine's last task and its next one would cost, and as exact
    as the temperature.
    """

    price: Int64
    load: Int64
    candidates: Int64
    temperature: float
    sharp: bool = False


def machine_units(residual: Residual, classes: Int64) -> Int64:
    """Upper bound on the tasks of ``classes`` that a machine can take together: int64[M].

    The room divided by the smallest request of any of them, resource by resource; a valid bound for every mix.
    """
    smallest = residual.problem.requests[residual.problem.shape[classes]].min(axis=0)
    units = np.full(residual.problem.machines, int(residual.remaining.sum()))
    for column, amount in enumerate(smallest.tolist()):
        if amount > 0:
            np.minimum(units, residual.free[column] // amount, out=units)
    return np.maximum(units, 0) * residual.problem.times()


def expected_spread(residual: Residual, fits: dict[int, Bool]) -> Spread:
    """Estimate prices and loads for the waiting tasks; ``fits`` maps each waiting shape to ``residual.fits``."""
    problem = residual.problem
    waiting = residual.remaining.sum(axis=1)
    per_shape = np.bincount(problem.shape, weights=waiting, minlength=len(problem.requests)).astype(
        np.float64
    )
    shapes, weight = _sample(per_shape, SAMPLED_SHAPES)
    room = machine_units(residual, np.flatnonzero(waiting))
    base = problem.crowd * residual.placed
    load = _water_level_load(problem, *_sample(per_shape, LEVELLED_SHAPES), fits, room, base)
    price = base + problem.crowd * load // problem.times()
    if len(shapes) == 1 or not problem.crowd.any():
        return Spread(price, load, np.flatnonzero(load), 1.0)
    candidates = _candidates(problem, shapes, weight, fits, price)
    if len(candidates) == 0:
        return Spread(price, load, candidates, 1.0)
    market = _market(problem, shapes, weight, fits, candidates, base, room)
    found = _cleared(market, (price - base)[candidates].astype(np.float32))
    price[candidates] = np.rint(found.price).astype(np.int64)
    load[candidates] = np.minimum(np.ceil(found.load).astype(np.int64), room[candidates])
    cleared = float(found.load.sum()) >= ENOUGH * float(market.tasks.sum())
    doubt = max(found.temperature, LEAST_DOUBT * market.step)
    return Spread(price, load, candidates, doubt, sharp=cleared)


def typical_step(problem: PlacementProblem) -> float:
    """Median crowding step over the machines that have one, in units; 1 if none has."""
    stepping = problem.crowd[problem.crowd > 0]
    return float(np.median(stepping)) if len(stepping) else 1.0


def _sample(weight: Float64, most: int) -> tuple[Int64, Float64]:
    """At most ``most`` shapes that stand for all: systematic sampling by number of tasks.

    Returns shape numbers and the tasks each stands for, which sum to the number of waiting tasks.
    """
    present = np.flatnonzero(weight > 0)
    if len(present) <= most:
        return present, weight[present]
    total = float(weight.sum())
    points = (np.arange(most) + 0.5) * (total / most)
    hit = present[np.searchsorted(np.cumsum(weight[present]), points)]
    shapes, times = np.unique(hit, return_counts=True)
    return shapes.astype(np.int64), times.astype(np.float64) * (total / most)


def _water_level_load(
    problem: PlacementProblem,
    shapes: Int64,
    weight: Float64,
    fits: dict[int, Bool],
    room: Int64,
    base: Int64,
) -> Int64:
    """Tasks per machine if all had the mean cost; the k-th task of m costs mean[m] + base[m] + crowd[m] * k."""
    total = np.zeros(problem.machines)
    weights = np.zeros(problem.machines)
    for shape, tasks in zip(shapes.tolist(), weight.tolist(), strict=True):
        usable = fits[shape] * tasks
        weights += usable
        usable *= problem.cost[shape]
        total += usable
    reachable = weights > 0
    room = np.where(reachable, room, 0)
    tasks = round(float(weight.sum()))
    if tasks >= int(room.sum()):
        return room
    mean = total / np.maximum(weights, 1.0) + base
    slope = np.maximum(problem.crowd, 1e-3) / problem.times()
    low = float(mean[reachable].min())
    high = float((mean + slope * room)[reachable].max()) + 1.0
    for _ in range(BISECTIONS):
        level = (low + high) / 2
        if int(_below(level, mean, slope, room).sum()) < tasks:
            low = level
        else:
            high = level
    return _below(high, mean, slope, room)


def _below(level: float, mean: Float64, slope: Float64, room: Int64) -> Int64:
    """Tasks per machine whose cost is at most ``level``."""
    return np.clip(np.floor((level - mean) / slope) + 1, 0, room).astype(np.int64)


def _candidates(
    problem: PlacementProblem, shapes: Int64, weight: Float64, fits: dict[int, Bool], price: Int64
) -> Int64:
    """Machines that some shape would like at ``price``; ascending."""
    liked = price > 0
    level = narrowed(price)
    some = np.arange(problem.machines)
    if problem.machines > 2 * LOOKED_AT:
        some = np.sort(np.random.default_rng(problem.machines).permutation(problem.machines)[:LOOKED_AT])
    part = len(some) / max(1, problem.machines)
    for shape, tasks in zip(shapes.tolist(), weight.tolist(), strict=True):
        key = problem.cost[shape] + level
        np.copyto(key, UNWANTED, where=~fits[shape])
        looked_at = key if part == 1 else key.take(some)
        liked |= key <= min(nth_smallest(looked_at, int(part * (2 * int(tasks) + 100))), UNWANTED - 1)
    return np.flatnonzero(liked)


def narrowed(price: Int64) -> Int32:
    """Prices as int32, cut off where they are hopeless anyway; partitioning 32 bits is several times faster."""
    return np.minimum(price, UNWANTED // 4).astype(np.int32)


def nth_smallest(key: Int32, n: int) -> int:
    """The ``n``-th smallest of ``key`` from 0, the largest if there are fewer."""
    n = min(n, len(key) - 1)
    return int(np.partition(key, n)[n])


def _market(
    problem: PlacementProblem,
    shapes: Int64,
    weight: Float64,
    fits: dict[int, Bool],
    candidates: Int64,
    base: Int64,
    room: Int64,
) -> Market:
    """The sampled shapes that fit somewhere, and the candidates, as a market."""
    somewhere = np.array([fits[shape][candidates].any() for shape in shapes.tolist()], dtype=np.bool_)
    shapes, weight = shapes[somewhere], weight[somewhere]
    cost = np.empty((len(shapes), len(candidates)), dtype=np.float32)
    for row, shape in enumerate(shapes.tolist()):
        cost[row] = problem.cost[shape].take(candidates)
        np.copyto(cost[row], FORBIDDEN, where=~fits[shape].take(candidates))
    step = typical_step(problem)
    times = problem.times()[candidates]
    return Market(
        cost=cost,
        tasks=weight.astype(np.float32),
        base=base[candidates].astype(np.float32),
        growth=np.maximum(problem.crowd[candidates] / times, FLATTEST * step).astype(np.float32),
        ahead=(0.5 * problem.crowd_step() * times).astype(np.float32),
        room=room[candidates].astype(np.float32),
        step=step,
    )


def _cleared(market: Market, crowding: Float32) -> Cleared:
    """Prices and loads at which the market is about cleared; ``crowding``: float32[M], a first guess.

    The network of a large batch has many arcs, and every further solve is dear: then prices are made sharper than else,
    and what leads up to them is done with a part of the machines.
    """
    if float(market.tasks.sum()) < LARGE or len(market.base) < SAMPLED_FROM:
        return refined(market, *_settle(market, crowding))
    some, drawn = sampled(market)
    coarse = refined(some, *_settle(some, crowding[drawn]), COARSE_LEVELS)
    return refined_from(market, coarse.worth)


def _settle(market: Market, crowding: Float32) -> tuple[Float32, Float32]:
    """Sweep the softened equilibrium from a first ``crowding``; return price and load of the candidates."""
    space = np.maximum(market.room, 0.5)
    scarcity = np.zeros_like(crowding)
    share = np.empty_like(market.cost)
    load = np.zeros_like(crowding)
    hot, cold = FIRST_TEMPERATURE * market.step, LAST_TEMPERATURE * market.step
    for temperature in np.geomspace(hot, cold, SWEEPS).tolist():
        np.add(market.cost, market.base + crowding + scarcity, out=share)
        share -= share.min(axis=1, keepdims=True)
        share *= -1.0 / temperature
        np.exp(share, out=share)
        load = np.einsum("s,sm->m", market.tasks / share.sum(axis=1), share)  # BLAS would start threads
        scarcity = np.maximum(scarcity + temperature * np.log(np.maximum(load / space, 1e-6)), 0.0)
        # A load reacts to its own price with slope -load / T; dividing by 1 + that keeps the sweep from oscillating.
        crowding += (market.growth * load - crowding) / (1.0 + market.growth * load / temperature)
    return market.base + crowding + scarcity, load
