"""Sharpens expected prices by Newton's method on the dual of the round's network.

Given prices u of the classes, machine m is worth V_m = max over classes of u_c - cost(c, m), takes as many tasks as it
has crowding steps below V_m, and takes them from the class that attains the maximum. Prices at which every class finds
exactly its tasks taken are those of the optimal flow. Both the maximum and the staircase of steps are smoothed, so that
the tasks taken are differentiable in u and Newton's method finds the prices in a few steps; then the smoothing is made
finer. It is the entropy-regularised transport problem with a convex cost of load (Cuturi 2013, Brauer et al. 2017 for
Newton's method on it).

The unknowns are the classes' prices, so a step costs classes^2 x machines multiplications.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]

TEMPERATURES = ((0.25, 3), (0.04, 3))
"""Smoothing, in typical crowding steps, and how often Newton's method steps at each."""

LONGEST_STEP = 2.0
"""No price moves by more than this many times the smoothing in one step, or one typical crowding step."""

SETTLED = 0.002
"""Share of the tasks without a machine at which prices count as found."""

FORBIDDEN = np.float32(1e12)
"""Cost of a task on a machine that it may not use."""

VANISHING = np.float32(-60.0)
"""Exponents are cut off here; e to this power is nothing beside 1."""

BLOCK = 32
"""Machines per matrix product; products of this size run in one thread, whatever the library's settings."""


@dataclass(frozen=True, slots=True)
class Market:
    """What is to be cleared: ``cost``: float32[S, M], ``FORBIDDEN`` where a task may not go, but
    not all over a row; ``tasks``: float32[S].

    A machine takes its first task at the price ``base`` and one more per ``growth`` (> 0) above; ``ahead`` of the
    middle of its stairs; at most ``room``: float32[M] each. ``step``: a typical crowding step.
    """

    cost: Float32
    tasks: Float32
    base: Float32
    growth: Float32
    ahead: Float32
    room: Float32
    step: float


@dataclass(frozen=True, slots=True)
class Cleared:
    """``price``, ``load``: float32[M]; ``temperature``: the last smoothing, in units."""

    price: Float32
    load: Float32
    temperature: float


def refined(market: Market, price: Float32, load: Float32) -> Cleared:
    """Sharpen ``price`` and ``load`` (float32[M]), which should be of about the right size."""
    used = len(price)
    padded = _padded(market)
    price, load = _pad(price, padded, 0.0), _pad(load, padded, 0.0)
    temperature = market.step
    for fraction, steps in TEMPERATURES:
        temperature = fraction * market.step
        worth = _balanced(padded, price, load, temperature)
        for _ in range(steps):
            share, price = _shares(padded, worth, temperature)
            load, slope = _loads(padded, price)
            taken = share @ load
            missing = padded.tasks - taken
            if float(np.abs(missing).sum()) <= SETTLED * float(padded.tasks.sum()):
                break
            worth = worth + _newton_step(share, load, slope, taken, missing, temperature, market.step)
        share, price = _shares(padded, worth, temperature)
        load, _ = _loads(padded, price)
    return Cleared(np.maximum(price, padded.base)[:used], load[:used], temperature)


def _padded(market: Market) -> Market:
    """The market with machines that take nothing, up to a whole number of blocks."""
    more = -len(market.base) % BLOCK
    if more == 0:
        return market
    return Market(
        cost=np.pad(market.cost, ((0, 0), (0, more)), constant_values=FORBIDDEN),
        tasks=market.tasks,
        base=np.pad(market.base, (0, more)),
        growth=np.pad(market.growth, (0, more), constant_values=np.float32(1.0)),
        ahead=np.pad(market.ahead, (0, more)),
        room=np.pad(market.room, (0, more)),
        step=market.step,
    )


def _pad(values: Float32, market: Market, value: float) -> Float32:
    return np.pad(values, (0, len(market.base) - len(values)), constant_values=np.float32(value))


def _balanced(market: Market, price: Float32, load: Float32, temperature: float) -> Float32:
    """Prices of the classes that suit given prices and loads of the machines: one step of Sinkhorn's scaling."""
    exponent = market.cost + np.maximum(price, market.base)
    least = exponent.min(axis=1)
    exponent -= least[:, None]
    exponent *= np.float32(-1.0 / temperature)
    np.maximum(exponent, VANISHING, out=exponent)
    np.exp(exponent, out=exponent)
    offered = np.maximum(exponent @ load, 1e-12)
    return (least + np.float32(temperature) * np.log(market.tasks / offered)).astype(np.float32)


def _shares(market: Market, worth: Float32, temperature: float) -> tuple[Float32, Float32]:
    """Share of each class in what a machine takes, float32[S, M], and the machines' prices."""
    share = worth[:, None] - market.cost
    best = share.max(axis=0)
    share -= best
    share *= np.float32(1.0 / temperature)
    np.maximum(share, VANISHING, out=share)
    np.exp(share, out=share)
    total = share.sum(axis=0)
    share /= total
    return share, best + np.float32(temperature) * np.log(total)


def _loads(market: Market, price: Float32) -> tuple[Float32, Float32]:
    """Tasks that machines take at their prices, and how these grow with the price."""
    wanted = (price - market.base) / market.growth + market.ahead
    inside = (wanted > 0) & (wanted < market.room)
    return np.clip(wanted, 0, market.room), np.where(inside, 1 / market.growth, 0).astype(np.float32)


def _newton_step(
    share: Float32,
    load: Float32,
    slope: Float32,
    taken: Float32,
    missing: Float32,
    temperature: float,
    step: float,
) -> Float32:
    """How the classes' prices should move: the Hessian's solution, shortened where it goes too far."""
    classes, machines = share.shape
    weighted = share * (slope - load / np.float32(temperature))
    blocks = (classes, machines // BLOCK, BLOCK)
    left = weighted.reshape(blocks).transpose(1, 0, 2)
    right = share.reshape(blocks).transpose(1, 2, 0)
    hessian = np.matmul(left, right).sum(axis=0).astype(np.float64)
    # A class that nobody serves has a flat row; the small term moves its price without touching the others.
    hessian[np.diag_indices(classes)] += taken / temperature + 1e-3
    move = np.linalg.solve(hessian, missing.astype(np.float64))
    longest = max(LONGEST_STEP * temperature, step)
    return np.clip(move, -longest, longest).astype(np.float32)
