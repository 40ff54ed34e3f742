"""Who is on the machines when a round begins, by class: what rules between tasks count."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cost_models.interface import Int64
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import State

MANY = 32
"""Classes of which it is quicker to look through all tasks than to put theirs together."""


class Inhabitants:
    """Bound and assumed tasks on known machines, grouped by row of their class."""

    def __init__(self, cluster: Cluster, *, without: int = -1) -> None:
        """``without``: row of a task that does not count."""
        tasks = cluster.tasks
        on = np.flatnonzero(tasks.machine[: len(tasks.uid)] >= 0)
        on = on[on != without]
        on = on[np.argsort(tasks.cls[on], kind="stable")]
        self.classes, first = np.unique(tasks.cls[on], return_index=True)
        """int64: rows of the classes that have tasks on machines, ascending."""
        self._tasks = on
        self._place = {row: place for place, row in enumerate(self.classes.tolist())}
        self._bounds = np.r_[first, len(on)].astype(np.int64)
        self._machine = tasks.machine[on]
        self._settled = tasks.state[on] == State.BOUND

    def machines(self, classes: Iterable[int], *, settled: bool = False) -> Int64:
        """Machine row of every task of ``classes``; with ``settled``, only of those whose binding is done."""
        places = [self._place[row] for row in classes if row in self._place]
        if len(places) > MANY:
            member = np.zeros(len(self.classes), dtype=np.bool_)
            member[places] = True
            among = np.repeat(member, np.diff(self._bounds))
            return self._machine[among & self._settled if settled else among]
        parts = []
        for place in places:
            span = slice(int(self._bounds[place]), int(self._bounds[place + 1]))
            machine = self._machine[span]
            parts.append(machine[self._settled[span]] if settled else machine)
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def tasks(self, classes: Iterable[int]) -> Int64:
        """Row of every task of ``classes`` that is on a machine."""
        parts = [
            self._tasks[int(self._bounds[place]) : int(self._bounds[place + 1])]
            for place in (self._place.get(row) for row in classes)
            if place is not None
        ]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
