"""Evictions under way: who was told to go, for whom, and what becomes of those if it does not go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cost_models.interface import Int64
from firmament.core.cluster import Cluster
from firmament.core.model import BUDGET_RECORD
from firmament.core.tasks import State


@dataclass(slots=True)
class _Notice:
    """One task that was told to go: its class row, when (in the order of ``Cluster.last_came``), and who waits:
    row and place in the order of arrivals of each task that has a place only if this one goes.
    """

    cls: int
    told: int
    waiting: set[tuple[int, int]] = field(default_factory=set)


class Evictions:
    """The tasks of a cluster that were told to go and have neither gone nor been let off."""

    def __init__(self) -> None:
        self._notices: dict[str, _Notice] = {}

    def tell(self, cluster: Cluster, victims: Iterable[int]) -> None:
        """Note that ``victims`` (rows of bound tasks) are told to go."""
        tasks = cluster.tasks
        for victim in victims:
            tasks.leaving[victim] = True
            self._notices[tasks.uid[victim]] = _Notice(int(tasks.cls[victim]), cluster.last_came)
            cluster.jobs.touch(tasks.job[victim])

    def count_on(self, cluster: Cluster, leaving: Iterable[str], waiting: int) -> None:
        """Note that ``waiting`` (row, just assumed) has its place only if ``leaving`` (uids) go."""
        for uid in leaving:
            if uid in self._notices:
                self._notices[uid].waiting.add((waiting, int(cluster.tasks.came[waiting])))

    def let_off(self, cluster: Cluster, victim: int) -> list[int]:
        """Note that a task (row) will not go after all; returns the rows of those that still count on it."""
        tasks = cluster.tasks
        notice = self._notices.pop(tasks.uid[victim], None)
        tasks.leaving[victim] = cluster.classes.rows[int(tasks.cls[victim])].content.terminating
        cluster.jobs.touch(tasks.job[victim])
        if notice is None:
            return []
        return [
            row
            for row, came in sorted(notice.waiting)
            if tasks.state[row] == State.ASSUMED and tasks.came[row] == came
        ]

    def classes(self) -> frozenset[int]:
        """Rows of the classes of those that were told to go."""
        return frozenset(notice.cls for notice in self._notices.values())

    def renumber(self, new_row: Int64) -> None:
        """Classes have other rows now: ``new_row[old]``, int64[C]; those of ``classes`` are still there."""
        for notice in self._notices.values():
            notice.cls = int(new_row[notice.cls])

    def forget_gone(self, cluster: Cluster) -> None:
        """Drop what concerns tasks that are gone, or that are somewhere else by now."""
        tasks = cluster.tasks
        for uid in list(self._notices):
            row = tasks.row_of.get(uid)
            if row is None or tasks.state[row] != State.BOUND or not tasks.leaving[row]:
                del self._notices[uid]

    def awaited(self, cluster: Cluster, waiting: Iterable[int]) -> bool:
        """Whether some of the tasks ``waiting`` (rows) have places that somebody has yet to leave."""
        tasks = cluster.tasks
        who = {(row, int(tasks.came[row])) for row in waiting if tasks.state[row] == State.ASSUMED}
        there = [notice for uid, notice in self._notices.items() if uid in tasks.row_of]
        return any(not notice.waiting.isdisjoint(who) for notice in there)

    def told_since_record(self, cluster: Cluster, name: str, classes: frozenset[int]) -> int:
        """How many tasks of ``classes`` were told to go since the disruption budget of that record name came."""
        came = cluster.record_came.get(BUDGET_RECORD, {}).get(name, 0)
        return sum(notice.told >= came and notice.cls in classes for notice in self._notices.values())
