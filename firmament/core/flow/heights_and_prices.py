"""Costs that a flow network cannot express (the sizes of tasks), and prices that one round hands on to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Float64, Int64

# --- Heights: what cost models charge for the use of a machine, as a sum over tasks of different sizes.
#
# A flow counts tasks. Whatever sizes tasks have, the k-th task of a round on a machine costs more than the task
# before it by g, the mean task's size. But the use of a machine is a sum of the sizes of its tasks. A model may state
# its figure as a height, which each task raises by its size (``cost_models.api.assessment.Heights``). All tasks on a
# machine together then cost
#
#     ((x + S)^2 - x^2) / 2 g + S / 2        x: the height before the round, S: the sum of sizes
#
# The height is the charge for one more task of mean size, so each part of a size is charged the height at which it
# lies. If all tasks have the mean size, the sum is what the network charges: n x + g n (n + 1) / 2. All amounts in
# these formulas are in hundredths of a point.


@dataclass(frozen=True, slots=True)
class HeightCharge:
    """A model's charge for one task without crowding, computed from the model's own figure ``raw`` (numeric[S, M]).

    The charge is ``per_unit`` hundredths of a point, of either sign, for each 1 by which ``raw`` exceeds ``best``,
    limited to 0 .. ``most``.
    """

    raw: NDArray[Any]
    best: float
    per_unit: float
    most: float

    def units(self, shapes: Int64, machines: Int64) -> Float64:
        """Return the charge for one task of ``shapes[i]`` on ``machines[i]``, without crowding: float64[A]."""
        units: Float64 = entries(self.raw, shapes, machines).astype(np.float64)
        units -= self.best
        units *= self.per_unit
        np.maximum(units, 0.0, out=units)
        return np.minimum(units, self.most, out=units)


@dataclass(frozen=True, slots=True)
class RoundHeights:
    """Sum of the heights of all cost models that state a height of each machine.

    ``start``: float64[M], heights before the round; ``rate``: float64[R, M], ``amount``: float64[S, R]: the size of a
    task is the sum of their products over R resources; ``growth``: float64[M], size of the round's mean task;
    ``charges``: what these models contribute to the network's costs, empty if no model states heights.
    """

    start: Float64
    rate: Float64
    amount: Float64
    growth: Float64
    charges: Sequence[HeightCharge]

    def sizes(self, shapes: Int64, machines: Int64) -> Float64:
        """Return the size of a task of ``shapes[i]`` on ``machines[i]``: float64[A]."""
        size = np.zeros(len(shapes))
        for amount, rate in zip(self.amount.T, self.rate, strict=True):
            size += amount.take(shapes) * rate.take(machines)
        return size

    def sum_charged(self, shapes: Int64, machines: Int64) -> Float64:
        """Return what the models with heights contribute to the network's cost of a task: float64[A]."""
        units = np.zeros(len(shapes))
        for charge in self.charges:
            units += charge.units(shapes, machines)
        return units

    def compute_cost(self, classes: Int64, shapes: Int64, machines: Int64, counts: Int64) -> float:  # noqa: ARG002
        """Return by how many units the tasks cost more (or less) than the network charges for mean sizes."""
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
"""Heights of a problem in which no model states heights."""


def entries(matrix: NDArray[Any], rows: Int64, columns: Int64) -> NDArray[Any]:
    """Return ``matrix[rows, columns]``; if rows are contiguous, one index instead of two makes it twice as fast."""
    if not matrix.flags.c_contiguous:  # ``take`` would copy the whole matrix
        return matrix[rows, columns]
    return matrix.take(rows * np.int64(matrix.shape[1]) + columns)


# --- Prices of shapes when a round ended: a start for the price estimate of the next round.


@dataclass(frozen=True, slots=True)
class DualPrices:
    """Dual prices of shapes in units of cost: ``price[i]`` (float32[K]) of shape ``shape[i]`` (int64[K], ascending).

    Only the differences of prices count: whoever uses the prices finds a new common level for them.
    """

    shape: Int64
    price: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.shape)

    @classmethod
    def from_shapes(cls, shapes: Int64, price: NDArray[np.float32]) -> DualPrices:
        """Return prices of ``shapes`` (int64[A], in any order); if a shape occurs twice, its first price counts."""
        distinct, first = np.unique(shapes, return_index=True)
        return cls(distinct, price[first])

    @classmethod
    def none(cls) -> DualPrices:
        """Return an empty set of dual prices."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))

    def get(self, shapes: Int64) -> NDArray[np.float32]:
        """Return the prices of ``shapes``: float32[A]; a shape without a price gets NaN."""
        found = np.full(len(shapes), np.nan, dtype=np.float32)
        if len(self.shape):
            place = np.minimum(np.searchsorted(self.shape, shapes), len(self.shape) - 1)
            known = self.shape[place] == shapes
            found[known] = self.price[place[known]]
        return found
