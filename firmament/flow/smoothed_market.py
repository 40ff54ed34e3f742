"""A market in which the choice of a class and the stairs of a machine are smoothed, so that both can be differentiated.

Given prices of the classes, what machines are worth, how many tasks they take at that, and of which classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firmament.flow.market import Float32, Market, Stairs

TINY = 1e-12
"""Sums of exponentials are taken afresh once they leave this and its inverse."""

BLOCK = 2048
"""Machines per matrix product; products of this size run in one thread, whatever the library's settings."""


@dataclass(frozen=True, slots=True)
class Point:
    """Prices of the classes (``worth``) and what follows.

    ``weight``: float32[S, M], shares of the classes in what a machine takes, times ``total``: float32[M]; prices, loads
    and how these grow with the price; ``served``: float32[S], tasks with a machine.
    """

    market: Market
    temperature: float
    worth: Float32
    weight: Float32
    total: Float32
    price: Float32
    load: Float32
    slope: Float32
    served: Float32

    @property
    def missing(self) -> Float32:
        """Tasks without a machine by class: the slope of the dual."""
        return self.market.tasks - self.served

    @property
    def lacking(self) -> float:
        """Tasks by which classes have too few or too many places, all together."""
        return float(np.abs(self.missing).sum())


class SmoothedMarket:
    """A market with smoothed choice and stairs; remembers the machines' last prices to keep exponents small."""

    def __init__(self, market: Market, temperature: float, width: float) -> None:
        self.market = market
        self.temperature = np.float32(temperature)
        self._width = np.float32(width)
        self._cost = market.cost * np.float32(1.0 / temperature)
        self._level: Float32 | None = None

    def at(self, worth: Float32) -> Point:
        """What follows from prices of the classes."""
        if self._level is not None:
            weight, total = self._weights(worth, self._level)
            if total.min() > TINY and total.max() < 1 / TINY:
                return self._at_level(worth, weight, total, self._level)
        level = (worth[:, None] * (1 / self.temperature) - self._cost).max(axis=0)
        weight, total = self._weights(worth, level)
        return self._at_level(worth, weight, total, level)

    def _weights(self, worth: Float32, level: Float32) -> tuple[Float32, Float32]:
        """Exponentials of what classes offer to machines beyond ``level``, in temperatures; their sums by machine."""
        weight = (worth * (1 / self.temperature))[:, None] - self._cost
        weight -= level
        with np.errstate(over="ignore", invalid="ignore"):  # then ``level`` was too far off
            np.exp(weight, out=weight)
            return weight, by_machine(np.ones_like(worth), weight)

    def _at_level(self, worth: Float32, weight: Float32, total: Float32, level: Float32) -> Point:
        self._level = level + np.log(total)
        price = self._level * self.temperature
        load, slope = smoothed_loads(self.market.stairs, price, self._width)
        return Point(
            market=self.market,
            temperature=float(self.temperature),
            worth=worth,
            weight=weight,
            total=total,
            price=price,
            load=load,
            slope=slope,
            served=by_class(weight, load / total),
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
    if matrix.shape[1] <= BLOCK:
        return matrix @ vector
    parts = [matrix[:, at : at + BLOCK] @ vector[at : at + BLOCK] for at in range(0, matrix.shape[1], BLOCK)]
    return np.sum(parts, axis=0)


def by_machine(vector: Float32, matrix: Float32) -> Float32:
    """Product of one entry per class with a matrix float32[S, M]: float32[M]."""
    if matrix.shape[1] <= BLOCK:
        return vector @ matrix
    return np.concatenate([vector @ matrix[:, at : at + BLOCK] for at in range(0, matrix.shape[1], BLOCK)])
