"""Lists the tasks on machines that records are about, for models that must know what a record cannot count yet."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Arrivals, Int64, ShapeRow
from firmament.core.scoring.shape_descriptions import shape_rows
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import State


@dataclass(frozen=True, slots=True)
class ShapeKinds:
    """Kinds of tasks that are shapes of the cluster."""

    cluster: Cluster

    def rows(self, kinds: Int64) -> Sequence[ShapeRow]:
        """What may be seen of each shape."""
        return shape_rows(self.cluster, kinds.tolist())

    def requests(self, kinds: Int64) -> Int64:
        """int64[len(kinds), K]."""
        return self.cluster.request_rows(kinds.tolist())


def arrivals(cluster: Cluster, kinds: Collection[str], *, without: int = -1) -> Arrivals | None:
    """Bound and assumed tasks on machines that records of ``kinds`` are about, except the task in row ``without``.

    None if there are no such records.
    """
    record_came = _record_came(cluster, kinds)
    if record_came is None:
        return None
    tasks = cluster.tasks
    machine = tasks.machine[: len(tasks.uid)]
    on = np.flatnonzero(machine >= 0)
    on = on[(record_came[machine[on]] > 0) & (on != without)]
    on = on[np.argsort(tasks.came[on], kind="stable")]
    displacing = tasks.displacing[on]
    shape_of_class = np.array([row.shape for row in cluster.classes.rows], dtype=np.int64)
    return Arrivals(
        machine=machine[on],
        kind=shape_of_class[tasks.cls[on]],
        task=on,
        after=(tasks.came[on] > record_came[machine[on]]) | (displacing & (tasks.state[on] == State.ASSUMED)),
        displacing=displacing,
        time=np.where(tasks.dated[on], tasks.assigned[on], np.nan),
        uids=tasks.uid,
        kinds=ShapeKinds(cluster),
    )


def _record_came(cluster: Cluster, kinds: Collection[str]) -> Int64 | None:
    """int64[M]: when the last record about each machine came, 0 for never; None if there are none at all."""
    by_kind = [came for kind in kinds if (came := cluster.records.came.get(kind))]
    if not by_kind:
        return None
    names = cluster.machines.names
    return np.array([[came.get(name, 0) for name in names] for came in by_kind], dtype=np.int64).max(axis=0)
