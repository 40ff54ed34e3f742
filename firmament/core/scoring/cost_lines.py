"""What short whole figures of models come to: straight lines, added up in whole numbers, where that is exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Float64
from firmament.core.configuration import WeightedModel
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.scoring.assessment import LARGEST_COST
from firmament.solvers.base import Int32

ROUNDING = 1e-6
"""More than sums of units in floating point are off: they stay far below 2**53 times this."""

SHORT = (np.dtype(np.int8), np.dtype(np.int16))

IN_CACHE = 2**16
"""Units that are written at once: with what they are made of they stay in a processor's own cache."""


@dataclass(frozen=True, slots=True)
class Lines:
    """What figures in 16 bits or less come to where that is a straight line of each, in whole numbers.

    ``slopes``: units by which each model's charge rises per unit of its figure; ``start``: int32[S], units of each row
    where all figures are 0.
    """

    slopes: Sequence[int]
    start: Int32

    @classmethod
    def of(cls, varying: Sequence[tuple[WeightedModel, NDArray[Any]]], constant: Float64) -> Lines | None:
        """Lines of ``varying`` models' figures; ``constant``: float64[S], units that others add to each row.

        None unless they give exactly what rounding the sums gives.
        """
        if not varying or any(raw.dtype not in SHORT or raw.size == 0 for _, raw in varying):
            return None
        first, *others = (_charged(weighted, raw) for weighted, raw in varying)
        values, of_row = np.unique(constant, return_inverse=True)
        lines = [_line(value + first.units, first.low, apart=bool(others)) for value in values.tolist()]
        found = [line for line in lines if line is not None]
        if len(found) < len(lines) or len({slope for slope, _ in found}) != 1:
            return None
        slopes = [found[0][0]]
        start = np.array([at_zero for _, at_zero in found])
        most = float(values.max()) + float(first.units.max())
        for each in others:
            line = _line(each.units, each.low, apart=False)
            if line is None or (np.abs(each.units - np.rint(each.units)) > ROUNDING).any():
                return None
            slopes.append(line[0])
            start += line[1]
            most += float(each.units.max())
        reach = sum(abs(slope) for slope in slopes) * np.iinfo(np.int16).max + float(np.abs(start).max())
        if most > LARGEST_COST or reach > np.iinfo(np.int32).max:
            return None
        return cls([int(slope) for slope in slopes], start.astype(np.int32)[of_row])

    def fill(self, varying: Sequence[tuple[WeightedModel, NDArray[Any]]], rows: Int32) -> None:
        """Write units to ``rows``: int32[S, M], as many rows at once as stay in the processor's cache."""
        (_, first), *others = varying
        slope, *slopes = self.slopes
        shapes, machines = rows.shape
        height = max(1, IN_CACHE // max(1, machines))
        part = np.empty((height if others else 0, machines), dtype=np.int32)
        for begin in range(0, shapes, height):
            block = slice(begin, min(begin + height, shapes))
            units = rows[block]
            units[:] = first[block]
            units *= slope
            units += self.start[block, None]
            for (_, raw), each in zip(others, slopes, strict=True):
                charged = part[: len(units)]
                charged[:] = raw[block]
                charged *= each
                units += charged


@dataclass(frozen=True, slots=True)
class _Charged:
    """Units for each figure from ``low`` to the highest that occurs: float64."""

    units: Float64
    low: int


def _charged(weighted: WeightedModel, raw: NDArray[Any]) -> _Charged:
    low = int(raw.min())
    points = weighted.model.range.points(np.arange(low, int(raw.max()) + 1))
    return _Charged(points * (weighted.weight * COST_UNITS_PER_POINT), low)


def _line(units: Float64, low: int, *, apart: bool) -> tuple[float, float] | None:
    """Slope and value at 0 of ``units`` for figures from ``low``, once rounded; None if they are not on a line.

    ``apart``: none of them may be so near to a half that whole numbers added to them could change their rounding.
    """
    whole = np.rint(units)
    if apart and (np.abs(units - whole) > 0.5 - ROUNDING).any():
        return None
    slope = float(whole[1] - whole[0]) if len(whole) > 1 else 0.0
    if (np.diff(whole) != slope).any():
        return None
    return slope, float(whole[0]) - slope * low
