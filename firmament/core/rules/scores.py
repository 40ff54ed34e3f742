"""Scores of rules about machines as a cost: what they leave of 100, times kube-scheduler's default weight."""

from __future__ import annotations

from cost_models.interface import Float64
from firmament.core.constraints.preferences import SoftCost

MODEL_NAME = "kubernetes"
"""What explanations call the model that a task's own preferences make up."""


def cost_of_score(weight: int, score: Float64, raw: Float64) -> SoftCost:
    """Return the cost of a score of 0 to 100; ``raw``: what it is made of. Both are float64[M]."""
    return SoftCost(weight * (100.0 - score), raw, weight)
