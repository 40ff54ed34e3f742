"""Scores machines by ``ScheduleAnyway`` spread constraints, as kube-scheduler's PodTopologySpread does."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.ruleset import ClassRules

SPREAD_WEIGHT = 2
"""kube-scheduler's default weight of the plugin's score."""


def score_topology_spread(
    state: RuleState, rules: ClassRules, feasible: Bool, at: Int64 | None
) -> tuple[Float64, Float64] | None:
    """Return scores from 0 to 100, and minus the sums s before scaling; None if all feasible machines are equal.

    Each constraint's count x factor + maxSkew - 1 is added to s. The score is 100 x (most + least - s) / most, over
    the ``feasible`` machines. Machines that lack a label of some constraint score 0. ``at``: the machines (rows) that
    are scored; None for all.
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
    return np.where(lacking, 0.0, np.clip(score, 0.0, 100.0)), -total
