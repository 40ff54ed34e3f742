"""Constraints between tasks that models have, over the classes of a round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from firmament.core.constraints.kinds import find_kinds
from firmament.core.rules.model_constraints import ModelConstraint
from firmament.core.state.cluster import Cluster


def model_constraints(
    cluster: Cluster, waiting: Sequence[int], *, without: int = -1
) -> tuple[ModelConstraint, ...]:
    """Those that concern a class in ``waiting`` (rows of classes; problem class c is ``waiting[c]``).

    ``without``: row of a task that is not to be counted where it is.
    """
    found = []
    for model in cluster.constraining_models:
        kinds = find_kinds(cluster, model.needs.kind_labels, waiting, without=without)
        kind = np.array([kinds.of.get(row, -1) for row in waiting], dtype=np.int64)
        if not (kind >= 0).any():
            continue
        labels = cluster.machines.described().labels
        constraint = model.constraint(labels, kinds.rows, kinds.placed.kind, kinds.placed.machine)
        if constraint is not None:
            found.append(ModelConstraint(model.name, kind, constraint))
    return tuple(found)
