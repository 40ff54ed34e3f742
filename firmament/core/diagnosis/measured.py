"""What machines, and the tasks on them, are measured to use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Float64
from firmament.core.snapshot.model_inputs import shown_use
from firmament.core.state.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Measured:
    """``resources``: K of them; ``machines``: names, M of them; ``use``: float64[M, K], NaN rows without a report;
    ``offered``: float64[M, K]. ``tasks``: float64[K] by uid, of those that are on machines and in their last reports.
    """

    resources: tuple[str, ...]
    machines: tuple[str, ...]
    use: Float64
    offered: Float64
    tasks: Mapping[str, Float64]


def measured(cluster: Cluster) -> Measured:
    """Return the last reports. Single tasks are known only where some model looks at load."""
    machines, tasks = cluster.machines, cluster.tasks
    rows = np.flatnonzero(tasks.machine[: len(tasks.uid)] >= 0)
    use, reported = shown_use(cluster, rows)
    return Measured(
        tuple(cluster.resources.names),
        tuple(machines.names),
        machines.usage,
        machines.capacity.astype(np.float64),
        {tasks.uid[row]: use[index] for index, row in enumerate(rows.tolist()) if reported[index]},
    )
