"""A market in which the choice of a class and the stairs of a machine are smoothed, so that both can be differentiated.

Given prices of the classes, what machines are worth, how many tasks they take at that, and of which classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firmament.core.flow.price_estimate.market import Float32, Market, Stairs

TINY = 1e-12
"""Offers are taken afresh once their sums leave this and its inverse."""

FARTHEST = 25.0
"""They are as well once a class's price has moved by more than so many temperatures since they were."""

HALVED = 1e-4
"""A temperature is half of another if it is so by this part of it."""

BLOCK = 400_000
"""Entries of a matrix per product with a vector; those run in one thread, whatever the library's settings."""


@dataclass(frozen=True, slots=True)
class MarketPoint:
    """Prices of the classes (``worth``: float32[S]) and what follows at a ``temperature`` in units.

    What a class offers to a machine is its ``factor`` (float32[S]) times the market's kernel, and its share in what the
    machine takes is that over the ``total`` (float32[M]). ``price``, ``load``, ``slope``: float32[M], prices, also
    below what a machine charges, loads and how these grow with the price; ``served``, ``missing``: float32[S], tasks
    with and without a machine. The latter are the slope of the dual.
    """

    temperature: float
    worth: Float32
    factor: Float32
    total: Float32
    price: Float32
    load: Float32
    slope: Float32
    served: Float32
    missing: Float32

    @property
    def lacking(self) -> float:
        """Tasks by which classes have too few or too many places, all together."""
        return float(np.abs(self.missing).sum())


class SmoothedMarket:
    """A market with smoothed choice and stairs.

    What a class offers to a machine is exp((worth - cost - price) / temperature). Other prices of the classes multiply
    its rows, and half the temperature squares it. So one *kernel*, float32[S, M], does for many prices, and what
    follows from each is found by products of a matrix and a vector (Sinkhorn's scaling). A point can be asked about
    until the market is smoothed otherwise, or another point has been found.
    """

    def __init__(self, market: Market) -> None:
        self.market = market
        self.temperature = np.float32(0)
        self._width = np.float32(1)
        self._kernel = np.empty((0, 0), dtype=np.float32)
        self._worth = self._price = np.empty(0, dtype=np.float32)

    def smooth(self, temperature: float, width: float) -> None:
        """Smooth by ``temperature``, in units, and ``width``, in steps, from now on."""
        if self._kernel.size and abs(2 * temperature - self.temperature) <= HALVED * self.temperature:
            np.square(self._kernel, out=self._kernel)
        else:
            self._kernel = np.empty((0, 0), dtype=np.float32)
        self.temperature, self._width = np.float32(temperature), np.float32(width)

    def at(self, worth: Float32) -> MarketPoint:
        """What follows from prices of the classes."""
        if self._kernel.size:
            moved = (worth - self._worth) / self.temperature
            if np.abs(moved).max() <= FARTHEST:
                factor = np.exp(moved)
                total = by_machine(factor, self._kernel)
                if total.min() > TINY and total.max() < 1 / TINY:
                    return self._point(worth, factor, total)
        self._offer(worth)
        factor = np.ones_like(worth)
        return self._point(worth, factor, by_machine(factor, self._kernel))

    def taken_from(self, point: MarketPoint, places: Float32) -> Float32:
        """Tasks of the classes, float32[S], that machines take if they take ``places`` (float32[M]) in all."""
        return point.factor * by_class(self._kernel, places / point.total)

    def passed_on(self, point: MarketPoint, move: Float32) -> Float32:
        """By how much prices of machines change, float32[M], if those of the classes do by ``move``."""
        return by_machine(point.factor * move, self._kernel) / point.total

    def _offer(self, worth: Float32) -> None:
        """Take the kernel afresh at prices of the classes, and at what the best of them would pay on each machine."""
        kernel = worth[:, None] - self.market.cost
        self._worth, self._price = worth, kernel.max(axis=0)
        kernel -= self._price
        kernel *= 1 / self.temperature
        self._kernel = np.exp(kernel, out=kernel)

    def _point(self, worth: Float32, factor: Float32, total: Float32) -> MarketPoint:
        risen: Float32 = np.log(total) * self.temperature
        price = self._price + risen
        load, slope = smoothed_loads(self.market.stairs, price, self._width)
        served = factor * by_class(self._kernel, load / total)
        return MarketPoint(
            temperature=float(self.temperature),
            worth=worth,
            factor=factor,
            total=total,
            price=price,
            load=load,
            slope=slope,
            served=served,
            missing=self.market.tasks - served,
        )


def smoothed_loads(stairs: Stairs, price: Float32, width: np.float32) -> tuple[Float32, Float32]:
    """Tasks that machines take at their prices, and how these grow with the price.

    Up to a step's edge minus half of ``width`` none more, from there evenly up to the edge plus half of it.
    """
    wanted = (price - stairs.base) / stairs.growth + (stairs.ahead - np.float32(0.5))
    edge = np.rint(wanted)
    beyond = (wanted - edge) / width + np.float32(0.5)
    taken = edge + np.clip(beyond, 0, 1)
    rising = (beyond > 0) & (beyond < 1) & (taken > 0) & (taken < stairs.room)
    slope = np.where(rising, 1 / (stairs.growth * width), np.float32(0))
    return np.clip(taken, 0, stairs.room), slope


def by_class(matrix: Float32, vector: Float32) -> Float32:
    """Product of a matrix float32[S, M] with one entry per machine: float32[S]."""
    if matrix.size <= BLOCK:
        return matrix @ vector
    return np.sum([matrix[:, some] @ vector[some] for some in _blocks(matrix)], axis=0)


def by_machine(vector: Float32, matrix: Float32) -> Float32:
    """Product of one entry per class with a matrix float32[S, M]: float32[M]."""
    if matrix.size <= BLOCK:
        return vector @ matrix
    return np.concatenate([vector @ matrix[:, some] for some in _blocks(matrix)])


def _blocks(matrix: Float32) -> list[slice]:
    """Columns that are multiplied together."""
    classes, machines = matrix.shape
    width = max(1, BLOCK // classes)
    return [slice(begin, begin + width) for begin in range(0, machines, width)]
