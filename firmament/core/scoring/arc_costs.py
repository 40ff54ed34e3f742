"""What a task of each shape costs on each machine: the models' figures and the task's own preferences, in units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Float64, Int64
from firmament.core.configuration import WeightedModel
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.scoring.asking import holds, scatter, take_over
from firmament.core.scoring.assessment import LARGEST_COST, Judgement, native_figures
from firmament.core.scoring.cost_lines import Lines
from firmament.core.scoring.kept_rows import Charges, Recall
from firmament.core.scoring.preferences import Preferences
from firmament.solvers.base import Int32


def cost_rows(judgement: Judgement, models: Sequence[WeightedModel]) -> Int32:
    """Units charged for a task of each shape on each machine: int32[S, M].

    The sum over models of weight x points, plus the task's own preferences.
    """
    return _units(_figures(judgement, models), judgement.preferred)


def charges(judgement: Judgement, models: Sequence[WeightedModel], recall: Recall) -> Charges:
    """The same, where what is kept is not reckoned again, and with what it takes to keep it."""
    figures = _figures(judgement, models)
    plain = np.array([preferred is None for preferred in judgement.preferred], dtype=np.bool_)
    if figures.others or not recall.sources:
        units = _units(figures, judgement.preferred)
        return Charges(units, figures.constant, plain & (not figures.others))
    units = np.empty((judgement.batch.count, judgement.machines.count), dtype=np.int32)
    held = np.zeros(judgement.batch.count, dtype=np.bool_)
    for source, rows, places in recall.sources:
        kept = source.charges
        same = plain[places] & kept.plain[rows] & (kept.constant[rows] == figures.constant[places])
        take_over(units, places[same], kept.units, rows[same])
        held[places[same]] = True
    rest, old = np.flatnonzero(~held), np.flatnonzero(held)
    if len(rest):
        units[rest] = _units(figures.of(rest), [judgement.preferred[place] for place in rest.tolist()])
    if len(old) and len(recall.changed):
        changed = _units(figures.of(old, recall.changed), [None] * len(old))
        scatter(units, old, recall.changed, changed)
    return Charges(units, figures.constant, plain)


@dataclass(frozen=True, slots=True)
class _Figures:
    """Native figures of a round. ``constant``: float64[S], units of models that say the same of every machine;
    ``varying``: figures [S, ``width``] of the others; ``others``: some of them do not hold until machines change;
    ``bounded``: no model's points are open upwards.
    """

    constant: Float64
    varying: Sequence[tuple[WeightedModel, NDArray[Any]]]
    width: int
    bounded: bool
    others: bool

    def of(self, shapes: Int64, machines: Int64 | None = None) -> _Figures:
        """The figures of some shapes, on some of the machines if told."""
        parts = []
        for weighted, figures in self.varying:
            rows = figures if len(shapes) == len(figures) else figures[shapes]
            parts.append((weighted, rows if machines is None else rows.take(machines, axis=1)))
        width = self.width if machines is None else len(machines)
        return replace(self, constant=self.constant[shapes], varying=parts, width=width)


def _figures(judgement: Judgement, models: Sequence[WeightedModel]) -> _Figures:
    shapes, machines = judgement.batch.count, judgement.machines.count
    constant = np.zeros(shapes)
    varying = []
    others = False
    for weighted, assessment in zip(models, judgement.assessments, strict=True):
        if assessment.raw.shape[1] == 1 and machines > 1 and assessment.sparse is None:
            points = weighted.model.range.points(assessment.raw[:, 0])
            constant += points * (weighted.weight * COST_UNITS_PER_POINT)
        else:
            varying.append((weighted, native_figures(assessment, shapes, machines)))
            others |= not holds(weighted.model, assessment, machines)
    bounded = all(weighted.model.range.bounded for weighted in models)
    return _Figures(constant, varying, machines, bounded, others)


def _units(given: _Figures, preferences: Sequence[Preferences | None]) -> Int32:
    """Units of all ``given`` figures: int32[S, width]. Each depends on its own figures and preferences alone."""
    rows = np.empty((len(given.constant), given.width), dtype=np.int32)
    varying = given.varying
    if not any(preferences) and (lines := Lines.of(varying, given.constant)):
        lines.fill(varying, rows)
        return rows
    total, points = np.empty(given.width), np.empty(given.width)
    for row, preferred in enumerate(preferences):  # row by row, to stay in the processor's cache
        # Bounded models stay far below the largest cost, and points below 0 there are none.
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
