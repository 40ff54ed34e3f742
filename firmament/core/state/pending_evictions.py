"""Records evictions under way: the victims, the tasks that wait for them, and what happens if a victim stays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from cost_models.interface import Int64
from firmament.core.record_kinds import BUDGET_RECORD
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.eviction_chains import EvictionChains
from firmament.core.state.tasks import TaskPhase

_NOBODY: Int64 = np.empty(0, dtype=np.int64)

_Waiting: TypeAlias = tuple[int, int]


@dataclass(slots=True)
class _Notice:
    """The notice about one evicted task: which tasks wait until it leaves.

    ``cls``: the row of the evicted task's class. ``evicted``: when the task was evicted (in the order of
    ``Cluster.last_arrival_number``). ``waiting``: row and arrival number of each task that has its machine only if
    this task leaves.
    """

    cls: int
    evicted: int
    waiting: set[_Waiting] = field(default_factory=set)


_BOUND: Final = int(TaskPhase.BOUND)
"""The state as a plain number, because it is compared thousands of times in a round with many evictions."""


class PendingEvictions:
    """The tasks that were evicted and are still on their machines, unless they were allowed to stay.

    ``under_way``: whether any eviction is under way; if False, the other methods return nothing. ``chains``: the
    recent evictions, including those that are over.
    """

    def __init__(self) -> None:
        self.under_way = False
        self.chains = EvictionChains()
        self._notices: dict[str, _Notice] = {}
        self._counted_on: dict[_Waiting, list[str]] = {}
        self._waiting: Int64 | None = None
        self._needless: set[str] = set()
        self._companions: dict[_Waiting, tuple[_Waiting, ...]] = {}

    def record_victims(self, cluster: Cluster, victims: Iterable[int]) -> None:
        """Record that ``victims`` (rows of bound tasks) are evicted."""
        self.under_way = True
        tasks = cluster.tasks
        for victim in victims:
            transitions.ask_to_leave(cluster, victim)
            self._notices[tasks.uid[victim]] = _Notice(int(tasks.cls[victim]), cluster.last_arrival_number)

    def record_waiting(self, cluster: Cluster, leaving: Iterable[str], waiting: int) -> None:
        """Record that ``waiting`` (row, just assumed) has its machine only if ``leaving`` (uids) leave."""
        who = waiting, int(cluster.tasks.arrival_number[waiting])
        going = [uid for uid in leaving if self._still_goes(cluster, uid)]
        if not going:
            return
        self.under_way = True
        self._counted_on.setdefault(who, []).extend(going)
        self._waiting = None
        transitions.owe(cluster, waiting)
        for uid in going:
            notice = self._notices.get(uid)
            # No round evicts a task without a notice, so no round can spare it, either.
            if notice is not None:
                notice.waiting.add(who)
                self._needless.discard(uid)

    def record_companions(self, cluster: Cluster, waiting: Iterable[int]) -> None:
        """Record that these tasks (rows, just assumed) all lose their machines if one does because a victim stays."""
        self.under_way = True
        together = tuple((row, int(cluster.tasks.arrival_number[row])) for row in waiting)
        for row, _ in together:
            transitions.owe(cluster, row)
        self._companions.update(dict.fromkeys(together, together))

    def awaits_victims(self, cluster: Cluster, waiting: int) -> bool:
        """Return whether a task (row, assumed) waits for victims to leave."""
        who = waiting, int(cluster.tasks.arrival_number[waiting])
        return any(self._still_goes(cluster, uid) for uid in self._counted_on.get(who, ()))

    def cancel_eviction(self, cluster: Cluster, victim: int) -> list[int]:
        """Record that a task (row) stays after all; return the rows of tasks that lose their machines because of it."""
        tasks = cluster.tasks
        notice = self._notices.pop(tasks.uid[victim], None)
        self._needless.discard(tasks.uid[victim])
        transitions.let_stay(cluster, victim)
        self.chains.take_back(cluster, victim)
        if notice is None:
            return []
        lost = {each for who in notice.waiting for each in self._companions.get(who, (who,))}
        return [
            row
            for row, arrival_number in sorted(lost)
            if tasks.state[row] == TaskPhase.ASSUMED and tasks.arrival_number[row] == arrival_number
        ]

    def classes(self) -> frozenset[int]:
        """Return the rows of the classes of the tasks that are being evicted."""
        return frozenset(notice.cls for notice in self._notices.values())

    def renumber(self, new_row: Int64) -> None:
        """Move classes to new rows: ``new_row[old]``, int64[C]; the rows in ``classes`` still exist."""
        for notice in self._notices.values():
            notice.cls = int(new_row[notice.cls])

    def forget_gone(self, cluster: Cluster) -> None:
        """Drop the entries of tasks that have ended or moved."""
        tasks = cluster.tasks
        for row, arrival_number in [
            who
            for who in self._companions
            if tasks.state[who[0]] != TaskPhase.ASSUMED or tasks.arrival_number[who[0]] != who[1]
        ]:
            del self._companions[row, arrival_number]
        for uid in list(self._notices):
            if not self._still_goes(cluster, uid):
                del self._notices[uid]
                self._needless.discard(uid)
        self.under_way = bool(self._companions or self._notices or self._counted_on)

    # --- evictions that are no longer needed --------------------------------------------------------------------

    def has_needless(self, cluster: Cluster) -> bool:
        """Return whether some eviction is no longer needed, and this was not reported yet.

        An eviction is no longer needed if no task depends on it.
        """
        self.waiting(cluster)
        return any(self._still_goes(cluster, uid) for uid in self._needless)

    def take_needless(self, cluster: Cluster) -> list[int]:
        """Return the rows of the tasks whose evictions are no longer needed, each once.

        The task that depended on the eviction was deleted, lost its machine, or is bound.
        """
        self.waiting(cluster)
        rows = [cluster.tasks.row_of[uid] for uid in sorted(self._needless) if self._still_goes(cluster, uid)]
        self._needless.clear()
        return rows

    @staticmethod
    def _still_goes(cluster: Cluster, uid: str) -> bool:
        tasks = cluster.tasks
        row = tasks.row_of.get(uid)
        return row is not None and bool(tasks.leaving[row]) and tasks.state.item(row) == _BOUND

    def waiting(self, cluster: Cluster) -> Int64:
        """Return the rows of the tasks that wait for victims, or did and are not bound yet; forget all others."""
        tasks = cluster.tasks
        if not self._counted_on:
            return _NOBODY
        if self._waiting is None:
            self._waiting = np.array(list(self._counted_on), dtype=np.int64).reshape(-1, 2)
        row, arrival_number = self._waiting.T
        ended = (tasks.state[row] != TaskPhase.ASSUMED) | (tasks.arrival_number[row] != arrival_number)
        if not ended.any():
            return row
        for who in [
            (int(row[index]), int(arrival_number[index])) for index in np.flatnonzero(ended).tolist()
        ]:
            for uid in self._counted_on.pop(who):
                notice = self._notices.get(uid)
                if notice is not None:
                    notice.waiting.discard(who)
                    if not notice.waiting:
                        self._needless.add(uid)
        self._waiting = None
        return row[~ended]

    def is_awaited(self, cluster: Cluster, waiting: Iterable[int]) -> bool:
        """Return whether some of the tasks ``waiting`` (rows) have machines that victims have yet to leave."""
        tasks = cluster.tasks
        rows = np.array([*waiting], dtype=np.int64)
        assumed = rows[tasks.state[rows] == int(TaskPhase.ASSUMED)].tolist()
        return any(self.awaits_victims(cluster, row) for row in assumed)

    def count_since_record(
        self, cluster: Cluster, name: str, classes: frozenset[int], counted: frozenset[str]
    ) -> int:
        """Return how many tasks of ``classes`` were evicted since the record of a disruption budget came.

        ``name``: the name of the budget's record.

        Tasks in ``counted`` are left out, because the budget has already counted them.
        """
        arrival_number = cluster.records.arrival_numbers.get(BUDGET_RECORD, {}).get(name, 0)
        names, row_of = cluster.tasks.name, cluster.tasks.row_of
        return sum(
            notice.evicted >= arrival_number
            and notice.cls in classes
            and not (counted and uid in row_of and names[row_of[uid]] in counted)
            for uid, notice in self._notices.items()
        )
