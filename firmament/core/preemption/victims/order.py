"""Says in which order the tasks on a machine are offered as victims: the least important first, then the latest."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Float64, Int64


def sort_victims(rows: Int64, machine: Int64, rank: Int64, started: Float64) -> Int64:
    """Return tasks (int64[V] rows) by machine, then the lower ``rank`` as victims, then the later start.

    ``machine``: int64[V], the machine of each task. ``started``: float64[V], when each task got its machine. The lower
    row comes first among equals.
    """
    return rows[np.lexsort((rows, -started, rank, machine))]
