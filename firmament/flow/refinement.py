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

from cost_models.interface import Int64

Float32 = NDArray[np.float32]

Level = tuple[float, int, float]
"""Smoothing, in typical crowding steps; how often Newton's method steps with it; and the share of the tasks without a
machine at which prices count as found.
"""

LEVELS: tuple[Level, ...] = ((0.25, 3, 0.02), (0.04, 3, 0.004))
COARSE_LEVELS: tuple[Level, ...] = ((0.25, 3, 0.05), (0.1, 4, 0.02))
FINE_LEVELS: tuple[Level, ...] = ((0.04, 6, 0.02), (0.01, 6, 0.004))
"""Where an inexact price is dear, one goes on to finer ones, and begins with a part of the machines (``sampled``)."""

SAMPLED_PART = 4
"""One in so many machines is enough to begin with."""

SHORTER = 4.0
"""A step that made things worse is divided by this."""

LOST = 0.1
"""Share of the tasks without a machine at which less smoothing has done more harm than good."""

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
    """``worth``: float32[S], prices of the classes; ``price``, ``load``: float32[M]; ``temperature``: the last
    smoothing, in units; ``lacking``: tasks by which classes have too few or too many places at these prices.
    """

    worth: Float32
    price: Float32
    load: Float32
    temperature: float
    lacking: float


def sampled(market: Market) -> tuple[Market, Int64]:
    """The market with one in ``SAMPLED_PART`` of its machines, and of its tasks; and which machines these are.

    Its prices are nearly the same. Machines are drawn at random, so that no pattern in their order misleads.
    """
    machines = len(market.base)
    drawn = np.random.default_rng(machines).permutation(machines)[: -(-machines // SAMPLED_PART)]
    drawn.sort()
    part = Market(
        cost=np.ascontiguousarray(market.cost[:, drawn]),
        tasks=market.tasks * np.float32(len(drawn) / machines),
        base=market.base[drawn],
        growth=market.growth[drawn],
        ahead=market.ahead[drawn],
        room=market.room[drawn],
        step=market.step,
    )
    return part, drawn


def refined(market: Market, price: Float32, load: Float32, levels: tuple[Level, ...] = LEVELS) -> Cleared:
    """Sharpen ``price`` and ``load`` (float32[M]), which should be of about the right size.

    Smoothing ends earlier where prices do not settle with less of it.
    """
    padded = _padded(market)
    price, load = _pad(price, padded, 0.0), _pad(load, padded, 0.0)
    worth = _balanced(padded, price, load, levels[0][0] * market.step)
    return _descended(market, padded, worth, levels)


def refined_from(market: Market, worth: Float32, levels: tuple[Level, ...] = FINE_LEVELS) -> Cleared:
    """Sharpen prices of the classes, ``worth``: float32[S]; see ``refined``."""
    return _descended(market, _padded(market), worth, levels)


def _descended(market: Market, padded: Market, worth: Float32, levels: tuple[Level, ...]) -> Cleared:
    """Prices with ever less smoothing, from ``worth`` on."""
    used = len(market.base)
    found: _Point | None = None
    for fraction, steps, settled in levels:
        temperature = fraction * market.step
        if found is not None:
            worth = _balanced(padded, found.price, found.load, temperature)
        point = _settled(padded, worth, temperature, steps, settled * float(market.tasks.sum()))
        if found is not None and point.lacking > max(found.lacking, LOST * float(market.tasks.sum())):
            break
        found = point
    assert found is not None  # there is at least one level
    return Cleared(
        found.worth,
        np.maximum(found.price, padded.base)[:used],
        found.load[:used],
        found.temperature,
        found.lacking,
    )


@dataclass(frozen=True, slots=True)
class _Point:
    """Prices of the classes (``worth``) and what follows: shares, prices, loads, slopes; tasks that miss a machine."""

    worth: Float32
    share: Float32
    price: Float32
    load: Float32
    slope: Float32
    missing: Float32
    temperature: float

    @property
    def lacking(self) -> float:
        """Tasks by which classes have too few or too many places, all together."""
        return float(np.abs(self.missing).sum())

    @classmethod
    def at(cls, market: Market, worth: Float32, temperature: float) -> _Point:
        """What follows from prices of the classes."""
        share, price = _shares(market, worth, temperature)
        load, slope = _loads(market, price)
        return cls(worth, share, price, load, slope, market.tasks - weighted_sums(share, load), temperature)


def _settled(market: Market, worth: Float32, temperature: float, steps: int, enough: float) -> _Point:
    """Up to ``steps`` Newton steps from ``worth``, until no more than ``enough`` tasks lack a machine.

    A step that makes things worse is taken back and made shorter.
    """
    mean_load = float(market.tasks.sum()) / len(market.base)
    longest = max(mean_load * temperature, market.step)  # smoother functions are quadratic farther out
    point = _Point.at(market, worth, temperature)
    move: Float32 | None = None
    for _ in range(steps):
        if point.lacking <= enough:
            break
        if move is None:
            move = _newton_step(point)
        tried = _Point.at(market, point.worth + np.clip(move, -longest, longest), temperature)
        if tried.lacking < point.lacking:
            point, move = tried, None
        else:
            longest = min(longest, float(np.abs(move).max())) / SHORTER
    return point


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
    offered = np.maximum(weighted_sums(exponent, load), 1e-12)
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


def weighted_sums(rows: Float32, weight: Float32) -> Float32:
    """float32[S]: sum of each row of float32[S, M], weighted. In one thread: BLAS would start others for so little."""
    sums: Float32 = np.einsum("sm,m->s", rows, weight)
    return sums


def _newton_step(point: _Point) -> Float32:
    """How the classes' prices should move: the solution of the Hessian."""
    share, temperature = point.share, point.temperature
    classes, machines = share.shape
    weighted = share * (point.slope - point.load / np.float32(temperature))
    blocks = (classes, machines // BLOCK, BLOCK)
    left = weighted.reshape(blocks).transpose(1, 0, 2)
    right = share.reshape(blocks).transpose(1, 2, 0)
    hessian = np.matmul(left, right).sum(axis=0).astype(np.float64)
    # A class that nobody serves has a flat row; the small term moves its price without touching the others.
    hessian[np.diag_indices(classes)] += weighted_sums(share, point.load) / temperature + 1e-3
    return np.linalg.solve(hessian, point.missing.astype(np.float64)).astype(np.float32)
