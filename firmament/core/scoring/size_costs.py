"""Adds up the heights that models state, in the network's units."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from firmament.core.configuration import WeightedModel
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.flow.size_costs import Charge, Heights
from firmament.core.scoring.assessment import Judgement, native_figures


def stated_heights(judgement: Judgement, models: Sequence[WeightedModel]) -> Heights | None:
    """Heights of all models of a round; None if no model states any, or if tasks do not differ in size."""
    counts = judgement.batch.counts
    stated = [
        (weighted, assessment, assessment.heights)
        for weighted, assessment in zip(models, judgement.assessments, strict=True)
        if assessment.heights is not None
    ]
    if not stated or not any((heights.amount != heights.amount[:1]).any() for _, _, heights in stated):
        return None
    start = np.zeros(judgement.machines.count)
    rates, amounts, charges = [], [], []
    for weighted, assessment, heights in stated:
        span = weighted.model.range
        per_unit = weighted.weight * COST_UNITS_PER_POINT * span.points_per_unit()
        start += heights.start * per_unit
        rates.append(heights.rate * per_unit)
        amounts.append(heights.amount)
        raw = native_figures(assessment, judgement.batch.count, judgement.machines.count)
        signed = per_unit if span.worst > span.best else -per_unit
        most = 100.0 * weighted.weight * COST_UNITS_PER_POINT if span.bounded else np.inf
        charges.append(Charge(raw, span.best, signed, most))
    rate, amount = np.concatenate(rates), np.concatenate(amounts, axis=1)
    growth = (counts @ amount / max(1, int(counts.sum()))) @ rate
    return Heights(start, rate, amount, growth, tuple(charges))
