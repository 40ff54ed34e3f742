"""Computes the cost of preferred rules: 100 minus kube-scheduler's scores, times its weights.

Preferred rules between tasks are (anti-)affinity and ScheduleAnyway constraints. Both scores are scaled over the
feasible machines, so the best of these machines costs nothing. Rules under which all machines are equal cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.pod_affinity_score import AFFINITY_WEIGHT, score_pod_affinity
from firmament.core.constraints.topology_spread_score import SPREAD_WEIGHT, score_topology_spread


@dataclass(frozen=True, slots=True)
class SoftCost:
    """The cost by preferred rules: ``points``: float64[M] or float64[A], after weights.

    ``raw``: the figures before scaling. ``weight``: the sum of the weights of the rules that apply.
    """

    points: Float64
    raw: Float64
    weight: int

    @classmethod
    def from_score(cls, weight: int, score: Float64, raw: Float64) -> SoftCost:
        """Return the cost of a score from 0 to 100: 100 minus the score, times the rule's ``weight``.

        ``raw``: the figure from which the score was scaled. ``score`` and ``raw`` are float64[M].
        """
        return cls(weight * (100.0 - score), raw, weight)

    @classmethod
    def join(cls, parts: Iterable[SoftCost | None]) -> SoftCost | None:
        """Return the sum of all ``parts``, or None if there are none."""
        found = [part for part in parts if part is not None]
        if not found:
            return None
        points = np.sum([part.points for part in found], axis=0)
        raw = np.sum([part.raw for part in found], axis=0)
        return cls(points, raw, sum(part.weight for part in found))


def soft_cost(state: RuleState, cls: int, feasible: Bool, at: Int64 | None = None) -> SoftCost | None:
    """Return the cost of a class's preferred rules on all machines, or on those in ``at``; None if it is 0 everywhere.

    ``feasible``: the machines over which scores are scaled, an array of the same length.
    """
    rules = state.rules.rules(cls)
    if not rules.soft or not feasible.any():
        return None
    scores = (
        (AFFINITY_WEIGHT, score_pod_affinity(state, rules, feasible, at)),
        (SPREAD_WEIGHT, score_topology_spread(state, rules, feasible, at)),
    )
    return SoftCost.join(SoftCost.from_score(weight, *found) for weight, found in scores if found is not None)
