"""The task's own preferred rules as a cost: node affinity, PreferNoSchedule taints, images, and room for new volumes.

As kube-scheduler scores them: node affinity is the sum of the matched terms' weights, scaled so that the best feasible
machine has 100; taints are the number of untolerated PreferNoSchedule taints, scaled and inverted; images are scored by
`images`, new volumes by `storage`. They carry kube-scheduler's default plugin weights, 2, 3, 1 and 1. Rules that the
task does not have, taints and images that no machine has, capacities that none states, cost nothing; preferred terms
that no machine matches cost the same everywhere.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Float64
from firmament.core.constraints.preferences import SoftCost
from firmament.core.model import TaskClass
from firmament.core.state.machines import MachineTable

NODE_AFFINITY_WEIGHT = 2
TAINT_WEIGHT = 3
IMAGE_WEIGHT = 1
STORAGE_WEIGHT = 1
MODEL_NAME = "kubernetes"


def preferences(machines: MachineTable, shape: TaskClass, feasible: Bool) -> SoftCost | None:
    """Cost of the shape's preferred rules on every machine, ``raw``: matched weights and scores less taints; None if
    none weighs anything.

    ``feasible``: bool[M], the machines over which scores are scaled.
    """
    count = len(machines)
    rules: list[SoftCost] = []
    if shape.preferred:
        matched = np.zeros(count)
        selectors = machines.selectors()
        for preferred in shape.preferred:
            matched += preferred.weight * selectors.term(preferred.term)
        best = matched[feasible].max(initial=0.0)
        score = np.floor(100.0 * matched / best) if best > 0 else np.zeros(count)
        rules.append(_scored(NODE_AFFINITY_WEIGHT, np.minimum(score, 100.0), matched))
    unwanted = machines.taints.untolerated_preferences(shape.tolerations, count).astype(np.float64)
    most = unwanted[feasible].max(initial=0.0)
    if most > 0:
        score = 100.0 - np.floor(100.0 * unwanted / most)
        rules.append(_scored(TAINT_WEIGHT, np.maximum(score, 0.0), -unwanted))
    locality = machines.images.scores(shape.images, count) if shape.images else None
    if locality is not None:
        rules.append(_scored(IMAGE_WEIGHT, locality, locality))
    unused = machines.storage.scores(shape.new_storage, count) if shape.new_storage else None
    if unused is not None:
        rules.append(_scored(STORAGE_WEIGHT, unused, unused))
    return SoftCost.joined(rules)


def _scored(weight: int, score: Float64, raw: Float64) -> SoftCost:
    return SoftCost(weight * (100.0 - score), raw, weight)
