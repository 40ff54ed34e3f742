"""Applies the driver's reports on the bindings and evictions that rounds have decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from firmament.core.configuration import RoundOptions
from firmament.core.events import BindingReport
from firmament.core.queue.order import Importance
from firmament.core.record_kinds import NOMINATION_RECORD
from firmament.core.rules.gangs.rebinding import Rebinding
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.pending_evictions import PendingEvictions
from firmament.core.state.tasks import TaskPhase


@dataclass(frozen=True, slots=True)
class BindingOutcomes:
    """Puts reports of bindings into effect. ``clock``: returns the time in seconds since the epoch."""

    cluster: Cluster
    evictions: PendingEvictions
    rebinding: Rebinding
    options: RoundOptions
    clock: Callable[[], float]

    def apply(self, reports: Sequence[BindingReport]) -> None:
        """Apply reports.

        An accepted binding binds its task. A refused task waits again, with back-off if it may be retried.

        A refused task that must not be retried stays unschedulable until an event about it arrives. The function
        ignores reports about unknown tasks, about tasks that are bound already, and about a machine that the task is
        no longer assigned to. A refusal may arrive after the task has been seen running.
        """
        cluster, tasks = self.cluster, self.cluster.tasks
        importance = Importance.from_tasks(tasks)
        pending = tasks.in_state(TaskPhase.PENDING)
        unschedulable = pending[tasks.unschedulable[pending]]
        farthest = importance.rank_preemptors(tasks, unschedulable).max(initial=-(2**62))
        for report in reports:
            task = tasks.row_of.get(report.uid)
            if task is None or cluster.where(task) != report.machine:
                continue
            if not report.bound and int(tasks.state[task]) == TaskPhase.BOUND and tasks.leaving[task]:
                self._cancel_eviction(task)
            if int(tasks.state[task]) != TaskPhase.ASSUMED:
                continue
            if report.bound:
                transitions.confirm(cluster, task, self.clock())
                if importance.rank_victims(tasks, task) < farthest:
                    cluster.mark(report.machine)  # From now on, other tasks may evict the bound task.
            else:
                self._apply_refusal(task, retry=report.retry)

    def _apply_refusal(self, task: int, *, retry: bool) -> None:
        """Let an assumed task wait again, unless its gang keeps the machine for it."""
        cluster = self.cluster
        cluster.jobs.touch(cluster.tasks.job[task])  # The job has changed even if the task keeps its machine.
        self._back_off(task)
        waits = self.evictions.awaits_victims(cluster, task)
        if retry and not waits and self.rebinding.keeps_place(cluster, task):
            return
        transitions.release(cluster, task, promised=retry and self._is_owed(task))
        transitions.refuse(cluster, task, retry=retry)

    def _back_off(self, task: int) -> None:
        first, last = self.options.first_backoff, self.options.last_backoff
        transitions.back_off(self.cluster, task, self.clock(), first=first, last=last)

    def _cancel_eviction(self, victim: int) -> None:
        """Record that a task (row) was not evicted; tasks that depended on its eviction wait again, with back-off."""
        cluster = self.cluster
        for task in self.evictions.cancel_eviction(cluster, victim):
            self._back_off(task)
            transitions.release(cluster, task, promised=True)

    def _is_owed(self, task: int) -> bool:
        """Return whether other tasks were evicted for an assumed task (row)."""
        cluster = self.cluster
        uid = cluster.tasks.uid[task]
        return bool(cluster.tasks.owed[task]) or uid in cluster.records.payloads.get(NOMINATION_RECORD, {})
