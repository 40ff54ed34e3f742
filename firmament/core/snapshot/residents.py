"""Counts the tasks on machines by shape, for models that look at them."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64, Residents
from firmament.core.scoring.shape_descriptions import shape_rows
from firmament.core.state.cluster import Cluster


def residents(cluster: Cluster, *, without: int = -1) -> Residents:
    """Count bound and assumed tasks per machine and shape, except the task in row ``without``.

    Tasks whose machine is not known are on none.
    """
    tasks = cluster.tasks
    on = on_machines(cluster)
    on = on[on != without]
    classes, of_task = np.unique(tasks.cls[on], return_inverse=True)
    shape_of = np.array([cluster.classes.rows[row].shape for row in classes.tolist()], dtype=np.int64)
    shapes, of_class = np.unique(shape_of, return_inverse=True)
    width = max(1, len(shapes))
    pairs, count = np.unique(tasks.machine[on] * width + of_class[of_task], return_counts=True)
    numbers = shapes.tolist()
    return Residents(
        machine=pairs // width,
        kind=pairs % width,
        count=count.astype(np.int64),
        kinds=shape_rows(cluster, numbers),
        requests=cluster.request_rows(numbers),
    )


def on_machines(cluster: Cluster) -> Int64:
    """Rows of the tasks that are on machines, ascending: those that models see one by one, in that order."""
    tasks = cluster.tasks
    return np.flatnonzero(tasks.machine[: len(tasks.uid)] >= 0)


def resident_shapes(cluster: Cluster) -> Int64:
    """The shapes of the tasks that are on machines, ascending: the kinds of `residents`, in that order."""
    classes = np.unique(cluster.tasks.cls[on_machines(cluster)]).tolist()
    return np.unique(np.array([cluster.classes.rows[row].shape for row in classes], dtype=np.int64))
