"""Terms of a problem that its network does not contain: sizes of tasks, and earlier prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Float64, Int64

# --- How high machines stand in what models charge for use, in the sum of what single tasks add.
#
# A flow counts tasks: the k-th of a round on a machine costs more than the one before by the mean task's size g,
# whatever sizes they have. Use itself is a sum of sizes. Where a model states its figure as a height that tasks raise
# by their sizes (``cost_models.api.assessment.Heights``), this is what all tasks on a machine cost together:
#
#     ((x + S)^2 - x^2) / 2 g + S / 2        x: the height before the round, S: the sum of sizes
#
# A height is what one more task of mean size is charged, so each part of a size is charged the height at which it comes
# to lie. Where all tasks have the mean size, that is what the network charges: n x + g n (n + 1) / 2. Units throughout.


@dataclass(frozen=True, slots=True)
class HeightCharge:
    """What a model charges a first task: ``per_unit`` units, of either sign, for each unit by which ``raw`` is above
    ``best``; at least 0, at most ``most``. ``raw``: numeric[S, M].
    """

    raw: NDArray[Any]
    best: float
    per_unit: float
    most: float

    def units(self, shapes: Int64, machines: Int64) -> Float64:
        """Return float64[A]: for tasks of ``shapes[i]`` on ``machines[i]``."""
        units: Float64 = entries(self.raw, shapes, machines).astype(np.float64)
        units -= self.best
        units *= self.per_unit
        np.maximum(units, 0.0, out=units)
        return np.minimum(units, self.most, out=units)


@dataclass(frozen=True, slots=True)
class RoundHeights:
    """Heights of all models that state them, added up.

    ``start``: float64[M], before the round; ``rate``: float64[R, M] and ``amount``: float64[S, R], of which a task's
    size is the product; ``growth``: float64[M], size of the round's mean task; ``charges``: what the network's costs
    hold of these models, nothing if none states heights.
    """

    start: Float64
    rate: Float64
    amount: Float64
    growth: Float64
    charges: Sequence[HeightCharge]

    def sizes(self, shapes: Int64, machines: Int64) -> Float64:
        """Return float64[A]: sizes of tasks of ``shapes[i]`` on ``machines[i]``."""
        size = np.zeros(len(shapes))
        for amount, rate in zip(self.amount.T, self.rate, strict=True):
            size += amount.take(shapes) * rate.take(machines)
        return size

    def sum_charged(self, shapes: Int64, machines: Int64) -> Float64:
        """Return float64[A]: what the network's costs hold of these models."""
        units = np.zeros(len(shapes))
        for charge in self.charges:
            units += charge.units(shapes, machines)
        return units

    def compute_cost(self, classes: Int64, shapes: Int64, machines: Int64, counts: Int64) -> float:  # noqa: ARG002
        """Return units by which ``counts[i]`` tasks of ``shapes[i]`` on ``machines[i]`` cost more, by their sizes, than
        the network charges for tasks of mean size; of either sign.
        """
        size = self.sizes(shapes, machines) * counts
        size_on = np.bincount(machines, weights=size, minlength=len(self.start))
        tasks_on = np.bincount(machines, weights=counts, minlength=len(self.start))
        grows = self.growth > 0
        used = np.flatnonzero((tasks_on > 0) & grows)
        total, tasks, growth = size_on.take(used), tasks_on.take(used), self.growth.take(used)
        exact = total * (self.start.take(used) + total / 2) / growth + total / 2
        crowding = growth * tasks * (tasks - 1) / 2
        charged = self.sum_charged(shapes, machines) * counts * grows.take(machines)
        return float((exact - crowding).sum() - charged.sum())


NO_HEIGHTS = RoundHeights(np.empty(0), np.empty((0, 0)), np.empty((0, 0)), np.empty(0), ())
"""No model states any."""


def entries(matrix: NDArray[Any], rows: Int64, columns: Int64) -> NDArray[Any]:
    """Return ``matrix[rows, columns]`` for ``matrix`` in order of its rows, by one index instead of two:
    twice as fast.
    """
    if not matrix.flags.c_contiguous:  # it would be written out as a whole for that
        return matrix[rows, columns]
    return matrix.take(rows * np.int64(matrix.shape[1]) + columns)


# --- What tasks of some shapes were worth when a round ended: a start for the expected prices of the next one.


@dataclass(frozen=True, slots=True)
class DualPrices:
    """Prices of shapes in units: ``price``: float32[K], of the shapes numbered ``shape``: int64[K], ascending.

    They count relative to each other; their common level is found anew wherever they are used.
    """

    shape: Int64
    price: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.shape)

    @classmethod
    def from_shapes(cls, shapes: Int64, price: NDArray[np.float32]) -> DualPrices:
        """Return prices of ``shapes`` (int64[A], in any order); of a shape that occurs twice the first
        counts.
        """
        distinct, first = np.unique(shapes, return_index=True)
        return cls(distinct, price[first])

    @classmethod
    def none(cls) -> DualPrices:
        """Return prices without any shape."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))

    def get(self, shapes: Int64) -> NDArray[np.float32]:
        """Return float32[A]: the prices of ``shapes``, NaN for those that have none."""
        found = np.full(len(shapes), np.nan, dtype=np.float32)
        if len(self.shape):
            place = np.minimum(np.searchsorted(self.shape, shapes), len(self.shape) - 1)
            known = self.shape[place] == shapes
            found[known] = self.price[place[known]]
        return found
