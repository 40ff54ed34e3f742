"""Binds members of a gang again on the same machine, a few times, after their binding was refused."""

from __future__ import annotations

from firmament.core.results import Delta, DeltaKind
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase

TRIES_IN_PLACE = 3
"""How often the solver tries to bind a member on one machine before the member loses this machine."""


class Rebinding:
    """Gang members that keep their machines until the solver tries their bindings again, after a back-off.

    ``arrival_numbers``: uid -> ``TaskTable.arrival_number`` of the member, which distinguishes this
    placement from a later one of the same task.
    """

    def __init__(self) -> None:
        self.arrival_numbers: dict[str, int] = {}

    def keeps_place(self, cluster: Cluster, task: int) -> bool:
        """Return whether a task whose binding was refused keeps its machine; if so, remember to bind it there again."""
        tasks = cluster.tasks
        job = cluster.jobs.gang(tasks.job[task])
        if job is None or tasks.machine[task] < 0 or tasks.failures[task] % TRIES_IN_PLACE == 0:
            return False
        self.arrival_numbers[tasks.uid[task]] = int(tasks.arrival_number[task])
        return True

    def due(self, cluster: Cluster, now: float) -> list[Delta]:
        """Return the deltas that bind members again on their machines, because their back-off has ended.

        A member whose machine no longer exists waits for another machine.
        """
        tasks = cluster.tasks
        deltas = []
        for uid in sorted(self.arrival_numbers):
            task = self._find_still_placed(cluster, uid)
            if task is None:
                del self.arrival_numbers[uid]
            elif tasks.machine[task] < 0:
                del self.arrival_numbers[uid]
                transitions.give_up_place(cluster, task)
            elif tasks.not_before[task] <= now:
                del self.arrival_numbers[uid]
                deltas.append(Delta(DeltaKind.PLACE, uid, cluster.where(task)))
        return deltas

    def next_in(self, cluster: Cluster, now: float) -> float | None:
        """Return the seconds until a member must be bound again; None if there are no members.

        Return 0 if a member has lost its machine.
        """
        waits = []
        for uid in self.arrival_numbers:
            task = self._find_still_placed(cluster, uid)
            if task is not None:
                lost = cluster.tasks.machine[task] < 0
                waits.append(0.0 if lost else max(0.0, float(cluster.tasks.not_before[task]) - now))
        return min(waits, default=None)

    def _find_still_placed(self, cluster: Cluster, uid: str) -> int | None:
        """Return the row of a task that is to be bound again; None if it is no longer on its machine."""
        tasks = cluster.tasks
        task = tasks.row_of.get(uid)
        same = (
            task is not None
            and tasks.state[task] == TaskPhase.ASSUMED
            and tasks.arrival_number[task] == self.arrival_numbers[uid]
        )
        return task if same else None
