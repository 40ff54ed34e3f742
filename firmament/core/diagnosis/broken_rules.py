"""Tasks that run where they would not be placed now: rules about machines that do not hold any more.

Labels, taints and volumes change after tasks have been placed, and others place tasks by other rules. A cordoned
machine, or one that is not ready, breaks no rule of the tasks that run there already.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from firmament.core.filters.node_filters import StaticRows
from firmament.core.filters.reasons import CORDONED, NOT_READY
from firmament.core.results import BrokenRule
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import State

PASSING = (CORDONED, NOT_READY)
"""What keeps tasks from coming, and not from staying."""


def broken_rules(cluster: Cluster, static_rows: StaticRows) -> Iterator[BrokenRule]:
    """Yield each bound task whose machine the rules of its class refuse, by class and then as the tasks came."""
    tasks = cluster.tasks
    bound = tasks.in_state(State.BOUND)
    bound = bound[tasks.machine[bound] >= 0]
    for cls in np.unique(tasks.cls[bound]).tolist():
        found = cluster.classes.rows[cls]
        if cluster.classes.shapes[found.shape].invalid:
            continue  # a fault of its own, wherever it is
        row = static_rows.of(found.shape)
        members = bound[tasks.cls[bound] == cls]
        code = row.code[tasks.machine[members]]
        for task, index in zip(members[code >= 0].tolist(), code[code >= 0].tolist(), strict=True):
            if row.causes[index].text not in PASSING:
                yield BrokenRule(tasks.uid[task], cluster.where(task), row.causes[index].text)
