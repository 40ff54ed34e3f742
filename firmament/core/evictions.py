"""Evictions under way: who was told to go, for whom, and what becomes of those if it does not go."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from firmament.core.cluster import Cluster
from firmament.core.model import BUDGET_RECORD
from firmament.core.tasks import State


@dataclass(slots=True)
class _Notice:
    """One task that was told to go: its class row, when (in the order of ``Cluster.last_came``), and who waits."""

    cls: int
    told: int
    waiting: set[str] = field(default_factory=set)


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

    def count_on(self, leaving: Iterable[str], waiting: str) -> None:
        """Note that ``waiting`` (uid) has a place only if ``leaving`` (uids) go."""
        for uid in leaving:
            if uid in self._notices:
                self._notices[uid].waiting.add(waiting)

    def let_off(self, cluster: Cluster, victim: int) -> list[str]:
        """Note that a task (row) will not go after all; returns the uids of those that counted on it."""
        notice = self._notices.pop(cluster.tasks.uid[victim], None)
        cluster.tasks.leaving[victim] = cluster.classes.rows[
            int(cluster.tasks.cls[victim])
        ].content.terminating
        cluster.jobs.touch(cluster.tasks.job[victim])
        return [] if notice is None else sorted(notice.waiting)

    def forget_gone(self, cluster: Cluster) -> None:
        """Drop what concerns tasks that are gone, or that are somewhere else by now."""
        tasks = cluster.tasks
        for uid in list(self._notices):
            row = tasks.row_of.get(uid)
            if row is None or tasks.state[row] != State.BOUND or not tasks.leaving[row]:
                del self._notices[uid]

    def told_since_record(self, cluster: Cluster, name: str, classes: frozenset[int]) -> int:
        """How many tasks of ``classes`` were told to go since the disruption budget of that record name came."""
        came = cluster.record_came.get(BUDGET_RECORD, {}).get(name, 0)
        return sum(notice.told >= came and notice.cls in classes for notice in self._notices.values())
