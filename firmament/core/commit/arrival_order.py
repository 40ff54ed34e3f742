"""Chains of bindings: on machines where the order of arrival decides what fits, tasks go out one after another.

A ledger may say that it counts on the order (a kubelet gives each pod the lowest NUMA zone that fits). Each placement
on such a machine then depends on the one before it: of the same round, or, for the first, the last that an earlier
round placed there and that is not bound yet.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.snapshot.snapshot import Picture
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import State


def keeps_order(picture: Picture, cls: Int64, row: Int64) -> Bool:
    """bool[N]: placements that some ledger counts on reaching their machines in order.

    ``cls``, ``row``: int64[N], classes and machine rows of the picture's problem.
    """
    kept: Bool = np.zeros(len(cls), dtype=np.bool_)
    shapes = picture.problem.known_as(picture.problem.shape[cls])
    for ledger in picture.problem.ledgers:
        kept |= ledger.ordered(shapes, row)
    return kept


def chained(cluster: Cluster, tasks: Int64, ordered: Bool, came: int) -> dict[int, str]:
    """The uid that each placement waits for, by index, for those that wait.

    ``tasks``: int64[N], rows of tasks that have just been assumed, in order of admission; ``ordered``: bool[N]. Tasks
    that came after ``came`` are those of this round.
    """
    table = cluster.tasks
    indices = np.flatnonzero(ordered)
    last: dict[int, str] = {}
    if len(indices):
        earlier = table.in_state(State.ASSUMED)
        earlier = earlier[table.came[earlier] <= came]
        earlier = earlier[np.argsort(table.came[earlier], kind="stable")]
        last = {int(table.machine[task]): table.uid[task] for task in earlier.tolist()}
    waits = {}
    for index in indices.tolist():
        task = int(tasks[index])
        at = int(table.machine[task])
        if at in last:
            waits[index] = last[at]
        last[at] = table.uid[task]
    return waits
