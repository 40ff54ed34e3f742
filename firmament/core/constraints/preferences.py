"""Computes the cost of preferred rules between tasks: 100 minus kube-scheduler's scores, times its weights.

Preferred (anti-)affinity counts, per domain, the weights of the terms that match (InterPodAffinity, weight 2). Uneven
domains of ScheduleAnyway constraints count as in PodTopologySpread's score (weight 2). Both scores (of affinity and
of spreading) are scaled over the feasible machines, so the best of these machines costs nothing. Rules under which
all machines are equal cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.ruleset import ClassRules

AFFINITY_WEIGHT = 2
SPREAD_WEIGHT = 2


@dataclass(frozen=True, slots=True)
class SoftCost:
    """The cost by preferred rules: ``points``: float64[M] or float64[A], after weights.

    ``raw``: the figures before scaling. ``weight``: the sum of the weights of the rules that apply.
    """

    points: Float64
    raw: Float64
    weight: int

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
    """Return the cost of a class's preferred rules on all machines, or those in ``at``; None if it is 0 everywhere.

    ``feasible``: the machines over which scores are scaled, an array of the same length.
    """
    rules = state.rules.rules(cls)
    if not rules.soft or not feasible.any():
        return None
    return SoftCost.join([_affinity(state, rules, feasible, at), _spread(state, rules, feasible, at)])


def _affinity(state: RuleState, rules: ClassRules, feasible: Bool, at: Int64 | None) -> SoftCost | None:
    """Return InterPodAffinity's cost: the sum of weights, scaled between least and most over the feasible machines."""
    total = np.zeros(len(feasible))
    for inclination in rules.inclinations:
        if state.totals[inclination.counter]:
            counter = state.rules.counters[inclination.counter]
            domain = counter.domain if at is None else counter.domain[at]
            total += inclination.weight * np.append(state.counts[inclination.counter], 0)[domain]
    least, most = total[feasible].min(), total[feasible].max()
    if most <= least:
        return None
    score = np.clip(np.floor(100.0 * (total - least) / (most - least)), 0.0, 100.0)
    return SoftCost(AFFINITY_WEIGHT * (100.0 - score), total, AFFINITY_WEIGHT)


def _spread(state: RuleState, rules: ClassRules, feasible: Bool, at: Int64 | None) -> SoftCost | None:
    """Return PodTopologySpread's cost: each constraint's count x factor + maxSkew - 1 is summed to s and scored.

    The score is 100 x (most + least - s) / most.

    Machines that lack a label of some constraint score 0.
    """
    if not rules.soft_spreadings:
        return None
    total = np.zeros(len(feasible))
    lacking = np.zeros(len(feasible), dtype=np.bool_)
    for rule in rules.soft_spreadings:
        domain = rule.key_domain if at is None else rule.key_domain[at]
        lacking |= domain < 0
        total += np.append(state.counts[rule.counter], 0)[domain] * rule.factor + (rule.max_skew - 1)
    total = np.round(total)
    scaled = feasible & ~lacking
    if not scaled.any():
        return None
    least, most = total[scaled].min(), total[scaled].max()
    if most == least and not lacking.any():
        return None
    score = np.floor(100.0 * (most + least - total) / most) if most > 0 else np.full(len(total), 100.0)
    score = np.where(lacking, 0.0, np.clip(score, 0.0, 100.0))
    return SoftCost(SPREAD_WEIGHT * (100.0 - score), -total, SPREAD_WEIGHT)
