"""Computes what a task of each shape costs on each machine, in units: models' figures plus the task's preferences.

If the result is exact, figures of models in small integers are converted by linear functions in whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Float64, Int64
from firmament.core.configuration import WeightedModel
from firmament.core.constraints.preferences import SoftCost
from firmament.core.flow.heights_and_prices import NO_HEIGHTS, HeightCharge, RoundHeights
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.scoring.kept_rows import Charges, Recall, scatter, take_over
from firmament.core.scoring.round_assessment import LARGEST_COST, RoundAssessment, holds, native_figures
from firmament.solvers.base import Int32


def compute_charges(
    assessed: RoundAssessment, models: Sequence[WeightedModel], recall: Recall | None
) -> Charges:
    """Return what a task of each shape costs on each machine, in units (int32[S, M]), and what is needed to cache it.

    The cost is the sum over models of weight x points, plus the task's own preferences; cached costs are reused.
    """
    figures = _gather_model_figures(assessed, models)
    plain = np.array([preferred is None for preferred in assessed.preferred], dtype=np.bool_)
    if figures.others or recall is None or not recall.sources:
        units = _units(figures, assessed.preferred)
        return Charges(units, figures.constant, plain & (not figures.others))
    units = np.empty((assessed.batch.count, assessed.machines.count), dtype=np.int32)
    held = np.zeros(assessed.batch.count, dtype=np.bool_)
    for source, rows, places in recall.sources:
        kept = source.charges
        same = plain[places] & kept.plain[rows] & (kept.constant[rows] == figures.constant[places])
        take_over(units, places[same], kept.units, rows[same])
        held[places[same]] = True
    rest, old = np.flatnonzero(~held), np.flatnonzero(held)
    if len(rest):
        units[rest] = _units(
            figures.from_shapes(rest), [assessed.preferred[place] for place in rest.tolist()]
        )
    if len(old) and len(recall.changed):
        changed = _units(figures.from_shapes(old, recall.changed), [None] * len(old))
        scatter(units, old, recall.changed, changed)
    return Charges(units, figures.constant, plain)


@dataclass(frozen=True, slots=True)
class _ModelFigures:
    """The figures that a round's models state, each in the model's own unit.

    ``constant``: float64[S], units of models that charge the same on every machine. ``varying``: figures [S,
    ``width``] of the other models. ``others``: whether some figures may change without a change of machines.
    ``bounded``: whether the points of every model have an upper bound.
    """

    constant: Float64
    varying: Sequence[tuple[WeightedModel, NDArray[Any]]]
    width: int
    bounded: bool
    others: bool

    def from_shapes(self, shapes: Int64, machines: Int64 | None = None) -> _ModelFigures:
        """Return the figures for some shapes, on all machines or on the given ones."""
        parts = []
        for weighted, figures in self.varying:
            rows = figures if len(shapes) == len(figures) else figures[shapes]
            parts.append((weighted, rows if machines is None else rows.take(machines, axis=1)))
        width = self.width if machines is None else len(machines)
        return replace(self, constant=self.constant[shapes], varying=parts, width=width)


def _gather_model_figures(assessed: RoundAssessment, models: Sequence[WeightedModel]) -> _ModelFigures:
    """Add up the units of those models that charge the same on every machine; keep the figures of the other models."""
    shapes, machines = assessed.batch.count, assessed.machines.count
    constant = np.zeros(shapes)
    varying = []
    others = False
    for weighted, assessment in zip(models, assessed.assessments, strict=True):
        if assessment.raw.shape[1] == 1 and machines > 1 and assessment.sparse is None:
            points = weighted.model.range.points(assessment.raw[:, 0])
            constant += points * (weighted.weight * COST_UNITS_PER_POINT)
        else:
            varying.append((weighted, native_figures(assessment, shapes, machines)))
            others |= not holds(weighted.model, assessment, machines)
    bounded = all(weighted.model.range.bounded for weighted in models)
    return _ModelFigures(constant, varying, machines, bounded, others)


def _units(given: _ModelFigures, preferences: Sequence[SoftCost | None]) -> Int32:
    """Return the cost units for all ``given`` figures and preferences: int32[S, width]."""
    rows = np.empty((len(given.constant), given.width), dtype=np.int32)
    varying = given.varying
    if (
        rows.size >= WORTH_LINES
        and not any(preferences)
        and (lines := Lines.from_figures(varying, given.constant))
    ):
        lines.fill(varying, rows)
        return rows
    total, points = np.empty(given.width), np.empty(given.width)
    # The loop goes row by row, to stay in the processor's cache.
    for row, preferred in enumerate(preferences):
        # If all models are bounded, sums stay far below the largest cost and no points are negative, so no check is
        # needed.
        capped = preferred is not None or not given.bounded
        total.fill(given.constant[row])
        if preferred is not None:
            total += preferred.points * COST_UNITS_PER_POINT
        for weighted, figures in varying:
            weighted.model.range.points(figures[row], out=points)
            points *= weighted.weight * COST_UNITS_PER_POINT
            total += points
        np.rint(total, out=total)
        rows[row] = np.minimum(total, LARGEST_COST, out=total) if capped else total
    return rows


ROUNDING = 1e-6
"""Rounding errors of sums of units are below this number, because the sums stay far below 2**53 times it."""

SHORT = (np.dtype(np.int8), np.dtype(np.int16))

WORTH_LINES = 2**12
"""Fewer units than this are added up directly, which takes less time than finding the linear functions.

The result is equal.
"""

IN_CACHE = 2**16
"""How many units are written together, so that they and their inputs stay in a core's cache."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Linear functions that turn models' figures, of at most 16 bits, into cost units in whole numbers.

    ``slopes``: units per unit of each model's figure. ``start``: int32[S], the units of each row if all figures are
    0.
    """

    slopes: Sequence[int]
    start: Int32

    @classmethod
    def from_figures(
        cls, varying: Sequence[tuple[WeightedModel, NDArray[Any]]], constant: Float64
    ) -> Lines | None:
        """Return the linear functions for ``varying`` models' figures.

        ``constant``: float64[S], units that other models add. Return None if the functions would not give exactly the
        rounded sums.
        """
        if not varying or any(raw.dtype not in SHORT or raw.size == 0 for _, raw in varying):
            return None
        (charged, low), *others = (_charge(weighted, raw) for weighted, raw in varying)
        values, of_row = np.unique(constant, return_inverse=True)
        lines = [_line(value + charged, low, apart=bool(others)) for value in values.tolist()]
        found = [line for line in lines if line is not None]
        if len(found) < len(lines) or len({slope for slope, _ in found}) != 1:
            return None
        slopes = [found[0][0]]
        start = np.array([at_zero for _, at_zero in found])
        most = float(values.max()) + float(charged.max())
        for charged, low in others:
            line = _line(charged, low, apart=False)
            if line is None or (np.abs(charged - np.rint(charged)) > ROUNDING).any():
                return None
            slopes.append(line[0])
            start += line[1]
            most += float(charged.max())
        reach = sum(abs(slope) for slope in slopes) * np.iinfo(np.int16).max + float(np.abs(start).max())
        if most > LARGEST_COST or reach > np.iinfo(np.int32).max:
            return None
        return cls([int(slope) for slope in slopes], start.astype(np.int32)[of_row])

    def fill(self, varying: Sequence[tuple[WeightedModel, NDArray[Any]]], rows: Int32) -> None:
        """Write units to ``rows`` (int32[S, M]), in blocks that stay in the processor's cache."""
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


def _charge(weighted: WeightedModel, raw: NDArray[Any]) -> tuple[Float64, int]:
    """Return the units for each figure from the lowest to the highest that occurs (float64), and the lowest figure."""
    low = int(raw.min())
    points = weighted.model.range.points(np.arange(low, int(raw.max()) + 1))
    return points * (weighted.weight * COST_UNITS_PER_POINT), low


def _line(units: Float64, low: int, *, apart: bool) -> tuple[float, float] | None:
    """Return slope and value at 0 of the line through rounded ``units``; None if they are on no line.

    The figures begin with ``low``. ``apart``: no unit may be so near to a half that adding whole numbers could change
    its rounding.
    """
    whole = np.rint(units)
    if apart and (np.abs(units - whole) > 0.5 - ROUNDING).any():
        return None
    slope = float(whole[1] - whole[0]) if len(whole) > 1 else 0.0
    if (np.diff(whole) != slope).any():
        return None
    return slope, float(whole[0]) - slope * low


def collect_heights(assessed: RoundAssessment, models: Sequence[WeightedModel]) -> RoundHeights:
    """Return the heights of all models of a round (costs by the sizes of all tasks on a machine).

    Return ``NO_HEIGHTS`` if no model states any, or if all tasks are equal in size.
    """
    counts = assessed.batch.counts
    stated = [
        (weighted, assessment, assessment.heights)
        for weighted, assessment in zip(models, assessed.assessments, strict=True)
        if assessment.heights is not None
    ]
    if not stated or not any((heights.amount != heights.amount[:1]).any() for _, _, heights in stated):
        return NO_HEIGHTS
    start = np.zeros(assessed.machines.count)
    rates, amounts, charges = [], [], []
    for weighted, assessment, heights in stated:
        span = weighted.model.range
        per_unit = weighted.weight * COST_UNITS_PER_POINT * span.points_per_unit()
        start += heights.start * per_unit
        rates.append(heights.rate * per_unit)
        amounts.append(heights.amount)
        raw = native_figures(assessment, assessed.batch.count, assessed.machines.count)
        signed = per_unit if span.worst > span.best else -per_unit
        most = 100.0 * weighted.weight * COST_UNITS_PER_POINT if span.bounded else np.inf
        charges.append(HeightCharge(raw, span.best, signed, most))
    rate, amount = np.concatenate(rates), np.concatenate(amounts, axis=1)
    growth = (counts @ amount / max(1, int(counts.sum()))) @ rate
    return RoundHeights(start, rate, amount, growth, tuple(charges))
