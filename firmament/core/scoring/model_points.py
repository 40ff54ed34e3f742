"""What each model charges for given pairs of a shape and a machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.configuration import WeightedModel
from firmament.core.scoring.preferences import MODEL_NAME
from firmament.core.scoring.round_assessment import RoundAssessment, raw_rows


def model_points(
    assessed: RoundAssessment, models: Sequence[WeightedModel], shapes: Int64, machines: Int64
) -> tuple[dict[str, Float64], dict[str, Float64]]:
    """Native figures, and points after weights, by model: float64[A] each, for ``shapes[i]`` on ``machines[i]``.

    The points of the tasks' own preferences are those of the model ``kubernetes``.
    """
    size = len(assessed.shapes), assessed.machines.count
    raw: dict[str, Float64] = {}
    points: dict[str, Float64] = {}
    for weighted, assessment in zip(models, assessed.assessments, strict=True):
        name = weighted.model.name
        raw[name] = raw_rows(assessment, *size)[shapes, machines]
        points[name] = weighted.model.range.points(raw[name]) * weighted.weight
    preferred = np.zeros(len(shapes))
    for shape, preferences in enumerate(assessed.preferred):
        if preferences is not None:
            here = shapes == shape
            preferred[here] = preferences.points[machines[here]]
    points[MODEL_NAME] = preferred
    return raw, points
