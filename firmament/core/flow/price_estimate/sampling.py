"""Samples pairs of classes and machines, in proportion to the expected flow.

The sampling is systematic: the pairs' weights are laid end to end, and a pair is drawn wherever a mark of an even
grid falls into its weight. Pairs with total weight w are drawn w times, plus or minus one; random draws would vary
more. The module samples twice, once over the machines of each class and once over the classes of each machine. Every
class and every machine is thus drawn in proportion to its weight.

With thousands of classes, only one pair in hundreds is drawn. The sampling then divides machines at random into a few
parts, and each class draws from one part; successive classes use successive parts. Even so, each class has many
machines to draw from, and each machine many classes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Float64, Int64
from firmament.core.flow.price_estimate.equilibrium import UNWANTED, PriceEstimate
from firmament.solvers.base import Int32

Float32 = NDArray[np.float32]

STRIDE = 0.618034
"""Grids of neighbouring rows are shifted by this part of their spacing (golden section), so they rarely coincide."""


class FlowSample:
    """Draws a sample of pairs of a class and one of ``estimate``'s candidates, for the first columns of a network.

    ``draws``: float64[C'], about how many pairs of each class are drawn, in each of the two passes; it follows from
    `GenerationOptions`.
    """

    def __init__(self, estimate: PriceEstimate, draws: Float64, pairs_per_draw: int) -> None:
        self._estimate, self._draws = estimate, draws
        machines = len(estimate.candidates)
        enough = pairs_per_draw * max(1.0, float(draws.sum()))
        self._parts = max(1, min(machines, int(len(draws) * machines / enough)))
        order = np.random.default_rng(machines).permutation(machines)
        # Where parts of equal size do not divide the machines, a few machines are in two parts.
        self._look = np.sort(np.resize(order, (self._parts, -(-machines // self._parts))), axis=1)
        self._key = np.empty((len(draws), self._look.shape[1]), dtype=np.int32)

    def set_keys(self, at: Int64, key: Int32) -> None:
        """Set the keys of classes ``at`` (indices) on candidates: int32[A, M'], ``UNWANTED`` where unfit."""
        self._key[at] = (
            key if self._parts == 1 else np.take_along_axis(key, self._look[at % self._parts], axis=1)
        )

    def draw(self) -> tuple[Int64, Int64]:
        """Return the pairs drawn for all classes whose keys were set: indices of classes and of candidates."""
        rows, places = [], []
        for part, look in enumerate(self._look):
            mine = slice(part, None, self._parts)
            flow = _compute_expected_flow(self._key[mine], self._draws[mine], self._estimate, look)
            drawn = np.flatnonzero(systematic_sample(flow))
            row = drawn // len(look)
            rows.append(part + self._parts * row)
            places.append(look[drawn - row * len(look)])
        return np.concatenate(rows), np.concatenate(places)


def systematic_sample(weight: Float32) -> Bool:
    """Return which pairs are drawn: bool[C', M']; ``weight``: float32[C', M'], at least 0."""
    by_machine = np.empty_like(weight)
    sums = shifts = _shifts(weight.shape[1])
    for row, line in enumerate(weight):  # a cumulative sum down the columns, whole rows at a time
        sums = np.add(sums, line, out=by_machine[row])
    np.floor(by_machine, out=by_machine)
    drawn = np.empty(weight.shape, dtype=np.bool_)
    np.not_equal(by_machine[:1], np.floor(shifts), out=drawn[:1])
    np.not_equal(by_machine[1:], by_machine[:-1], out=drawn[1:])
    by_class = np.cumsum(weight, axis=1, out=by_machine)
    by_class += _shifts(len(weight))[:, None]
    np.floor(by_class, out=by_class)
    drawn[:, :1] |= by_class[:, :1] != 0
    drawn[:, 1:] |= by_class[:, 1:] != by_class[:, :-1]
    return drawn


def _compute_expected_flow(key: Int32, draws: Float64, estimate: PriceEstimate, look: Int64) -> Float32:
    """Return how many of ``draws`` tasks of each class should go to candidates ``look``.

    ``draws`` is float64[C'], the result float32[C', M'].
    """
    least = key.min(axis=1)
    flow = (key - least[:, None]).astype(np.float32)
    flow *= np.float32(-1.0 / estimate.temperature)
    np.exp(flow, out=flow)
    flow *= estimate.appeal[look]
    total = np.maximum(flow.sum(axis=1), np.float32(1e-12))
    flow *= (np.where(least < UNWANTED, draws, 0) / total).astype(np.float32)[:, None]
    return flow


def _shifts(count: int) -> Float32:
    """Return, for each of ``count`` neighbouring rows, the shift of its grid: a number from 0 to 1."""
    return ((np.arange(count) * STRIDE + 0.5) % 1.0).astype(np.float32)
