"""Sampling of pairs of classes and machines, in proportion to the flow that is expected on them.

It is systematic: weights are laid end to end, and a pair is drawn wherever a mark of an even grid falls into its
weight. A stretch of total weight w gets w pairs, give or take one, instead of a number that depends on chance. It is
done twice, once with the machines of a class side by side and once with the classes of a machine, so that every class
and every machine is met in proportion to its weight.

With thousands of classes there are hundreds of pairs for each that is drawn. Then machines are dealt out at random to a
few parts, and classes take turns at looking at one of them: each still has many to draw from, and so has each machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Bool, Float64, Int64
from firmament.core.flow.price_estimate.equilibrium import UNWANTED, Spread
from firmament.solvers.base import Int32

Float32 = NDArray[np.float32]

STRIDE = 0.618034
"""Grids of neighbours are shifted by this part of their spacing (the golden section), so that they rarely coincide."""


class FlowSample:
    """A sample from the pairs of some classes and the candidates of ``spread``; classes may come a few at a time.

    ``draws``: float64[C'], about how many pairs of each class are drawn, in each direction.
    """

    def __init__(self, spread: Spread, draws: Float64, pairs_per_draw: int) -> None:
        self._spread, self._draws = spread, draws
        machines = len(spread.candidates)
        enough = pairs_per_draw * max(1.0, float(draws.sum()))
        self._parts = max(1, min(machines, int(len(draws) * machines / enough)))
        order = np.random.default_rng(machines).permutation(machines)
        # Where the parts do not come out even, a few machines are in two of them.
        self._look = np.sort(np.resize(order, (self._parts, -(-machines // self._parts))), axis=1)
        self._key = np.empty((len(draws), self._look.shape[1]), dtype=np.int32)

    def see(self, at: Int64, key: Int32) -> None:
        """Set what classes ``at`` (places among all) pay for candidates: int32[A, M'], ``UNWANTED`` if none
        may go there.
        """
        self._key[at] = (
            key if self._parts == 1 else np.take_along_axis(key, self._look[at % self._parts], axis=1)
        )

    def draw(self) -> tuple[Int64, Int64]:
        """Return the pairs drawn from what was seen, of all classes: places of classes and of candidates."""
        rows, places = [], []
        for part, look in enumerate(self._look):
            mine = slice(part, None, self._parts)
            flow = _compute_expected_flow(self._key[mine], self._draws[mine], self._spread, look)
            drawn = np.flatnonzero(systematic_sample(flow))
            row = drawn // len(look)
            rows.append(part + self._parts * row)
            places.append(look[drawn - row * len(look)])
        return np.concatenate(rows), np.concatenate(places)


def systematic_sample(weight: Float32) -> Bool:
    """Return bool[C', M']: pairs drawn; ``weight``: float32[C', M'], at least 0."""
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


def _compute_expected_flow(key: Int32, draws: Float64, spread: Spread, look: Int64) -> Float32:
    """Return how ``draws`` (float64[C']) tasks of classes are expected on the candidates ``look`` alone:
    float32[C', M'].
    """
    least = key.min(axis=1)
    flow = (key - least[:, None]).astype(np.float32)
    flow *= np.float32(-1.0 / spread.temperature)
    np.exp(flow, out=flow)
    flow *= spread.appeal[look]
    total = np.maximum(flow.sum(axis=1), np.float32(1e-12))
    flow *= (np.where(least < UNWANTED, draws, 0) / total).astype(np.float32)[:, None]
    return flow


def _shifts(count: int) -> Float32:
    """Return where the grids of ``count`` neighbours begin: in 0 to 1."""
    return ((np.arange(count) * STRIDE + 0.5) % 1.0).astype(np.float32)
