"""Members of gangs whose bindings were refused: bound again where they are, some times, before they lose the place."""

from __future__ import annotations

from firmament.core.results import Delta, DeltaKind
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import State

TRIES_IN_PLACE = 3
"""Bindings of a member that are tried on one machine before the place is given up."""


class Rebinding:
    """The members that keep their places until their bindings are tried again, after a back-off."""

    def __init__(self) -> None:
        self._came: dict[str, int] = {}

    def keeps_place(self, cluster: Cluster, task: int) -> bool:
        """Whether a task whose binding was refused is a member to be bound again where it is, after its back-off."""
        tasks = cluster.tasks
        job = cluster.jobs.gang(tasks.job[task])
        if job is None or tasks.machine[task] < 0 or tasks.failures[task] % TRIES_IN_PLACE == 0:
            return False
        self._came[tasks.uid[task]] = int(tasks.came[task])
        return True

    def due(self, cluster: Cluster, now: float) -> list[Delta]:
        """Bindings of members that are to be tried again in their places.

        A member whose machine has gone meanwhile has lost its place, and waits for another one.
        """
        tasks = cluster.tasks
        deltas = []
        for uid in sorted(self._came):
            task = self._still_placed(cluster, uid)
            if task is None:
                del self._came[uid]
            elif tasks.machine[task] < 0:
                del self._came[uid]
                transitions.give_up_place(cluster, task)
            elif tasks.not_before[task] <= now:
                del self._came[uid]
                deltas.append(Delta(DeltaKind.PLACE, uid, cluster.where(task)))
        return deltas

    def next_in(self, cluster: Cluster, now: float) -> float | None:
        """Seconds until a member is to be bound again, or has lost its place; None if there is none."""
        waits = []
        for uid in self._came:
            task = self._still_placed(cluster, uid)
            if task is not None:
                lost = cluster.tasks.machine[task] < 0
                waits.append(0.0 if lost else max(0.0, float(cluster.tasks.not_before[task]) - now))
        return min(waits, default=None)

    def _still_placed(self, cluster: Cluster, uid: str) -> int | None:
        """Row of a task whose binding is to be tried again, None if it has not stayed in its place since."""
        tasks = cluster.tasks
        task = tasks.row_of.get(uid)
        same = task is not None and tasks.state[task] == State.ASSUMED and tasks.came[task] == self._came[uid]
        return task if same else None
