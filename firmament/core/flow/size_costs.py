"""How high machines stand in what models charge for use, in the sum of what single tasks add.

A flow counts tasks: the k-th of a round on a machine costs more than the one before by the mean task's size g, whatever
sizes they have. Use itself is a sum of sizes. Where a model states its figure as a height that tasks raise by their
sizes (``cost_models.api.assessment.Heights``), this is what all tasks on a machine cost together:

    ((x + S)^2 - x^2) / 2 g + S / 2        x: the height before the round, S: the sum of sizes

A height is what one more task of mean size is charged, so each part of a size is charged the height at which it comes
to lie. Where all tasks have the mean size, that is what the network charges: n x + g n (n + 1) / 2. Units throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Float64, Int64


@dataclass(frozen=True, slots=True)
class Charge:
    """What a model charges a first task: ``per_unit`` units, of either sign, for each unit by which ``raw`` is above
    ``best``; at least 0, at most ``most``. ``raw``: numeric[S, M].
    """

    raw: NDArray[Any]
    best: float
    per_unit: float
    most: float

    def units(self, shapes: Int64, machines: Int64) -> Float64:
        """float64[A]: for tasks of ``shapes[i]`` on ``machines[i]``."""
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
    hold of these models.
    """

    start: Float64
    rate: Float64
    amount: Float64
    growth: Float64
    charges: Sequence[Charge]

    def sizes(self, shapes: Int64, machines: Int64) -> Float64:
        """float64[A]: sizes of tasks of ``shapes[i]`` on ``machines[i]``."""
        size = np.zeros(len(shapes))
        for amount, rate in zip(self.amount.T, self.rate, strict=True):
            size += amount.take(shapes) * rate.take(machines)
        return size

    def charged(self, shapes: Int64, machines: Int64) -> Float64:
        """float64[A]: what the network's costs hold of these models."""
        units = np.zeros(len(shapes))
        for charge in self.charges:
            units += charge.units(shapes, machines)
        return units


def entries(matrix: NDArray[Any], rows: Int64, columns: Int64) -> NDArray[Any]:
    """``matrix[rows, columns]`` for ``matrix`` in order of its rows, by one index instead of two: twice as fast."""
    if not matrix.flags.c_contiguous:  # it would be written out as a whole for that
        return matrix[rows, columns]
    return matrix.take(rows * np.int64(matrix.shape[1]) + columns)
