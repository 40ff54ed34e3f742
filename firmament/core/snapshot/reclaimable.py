"""What evicting gives back of models' joint rows, for those who could be evicted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Int64, JointRows, Returned
from firmament.core.snapshot.residents import on_machines, resident_shapes
from firmament.core.state.cluster import Cluster


def returned(cluster: Cluster, joint: Sequence[JointRows], rows: Int64) -> tuple[tuple[int, ...], Int64]:
    """Which of the joint rows get something back, and of each how much when a task goes: int64[V, J].

    ``rows``: int64[V], the tasks; all are on machines. To be asked while the cluster is as models were shown it.
    """
    found = [
        (number, _amounts(cluster, block.returned, rows))
        for number, block in enumerate(joint)
        if block.returned is not None and not block.shared
    ]
    if not found:
        return (), np.zeros((len(rows), 0), dtype=np.int64)
    return tuple(number for number, _ in found), np.stack([amounts for _, amounts in found], axis=1)


def _amounts(cluster: Cluster, given: Returned, rows: Int64) -> Int64:
    """int64[V]: what comes back of each task."""
    if given.by_kind is not None:
        shape_of = np.array([cluster.classes.rows[cls].shape for cls in cluster.tasks.cls[rows].tolist()])
        kinds: Int64 = np.searchsorted(resident_shapes(cluster), shape_of.astype(np.int64))
        return given.by_kind[kinds]
    if given.by_task is not None:
        return given.by_task.amounts(np.searchsorted(on_machines(cluster), rows).astype(np.int64))
    return np.zeros(len(rows), dtype=np.int64)
