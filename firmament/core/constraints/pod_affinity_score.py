"""Scores machines by preferred affinity and anti-affinity between tasks, as kube-scheduler's InterPodAffinity does."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.ruleset import ClassRules

AFFINITY_WEIGHT = 2
"""kube-scheduler's default weight of the plugin's score."""

HARD_AFFINITY_WEIGHT = 1
"""The weight that each required affinity term of a task on a machine has for the tasks that it selects
(kube-scheduler's hardPodAffinityWeight)."""


def score_pod_affinity(
    state: RuleState, rules: ClassRules, feasible: Bool, at: Int64 | None
) -> tuple[Float64, Float64] | None:
    """Return scores from 0 to 100, and the sums of weights before scaling; None if all feasible machines are equal.

    Each term that matches tasks in a machine's domain counts with its weight, once for each of these tasks. The sums
    are scaled between the least and the most over the ``feasible`` machines. ``at``: the machines (rows) that are
    scored; None for all.
    """
    total = np.zeros(len(feasible))
    for inclination in rules.inclinations:
        if state.totals[inclination.counter]:
            counter = state.rules.counters[inclination.counter]
            domain = counter.domain if at is None else counter.domain[at]
            total += inclination.weight * np.append(state.counts[inclination.counter], 0)[domain]
    least, most = total[feasible].min(), total[feasible].max()
    if most <= least:
        return None
    return np.clip(np.floor(100.0 * (total - least) / (most - least)), 0.0, 100.0), total
