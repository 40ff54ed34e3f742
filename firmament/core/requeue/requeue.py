"""Decides which tasks take part in rounds, and when a round could help: back-offs, reservations, gangs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.commit.evictions import still_leaves
from firmament.core.configuration import RoundOptions
from firmament.core.filters.static_rows import StaticRows
from firmament.core.model import TaskClass
from firmament.core.queue.profile_turns import ProfileChoice
from firmament.core.queue.reservations import Reservations
from firmament.core.queue.work_budgets import Budgets
from firmament.core.record_kinds import QUOTA_RECORD
from firmament.core.requeue.queueing_hints import FeasibleMachines, requeue
from firmament.core.requeue.renomination import Renominations
from firmament.core.requeue.set_aside import SetAside
from firmament.core.requeue.strict_heads import StrictHeads
from firmament.core.requeue.turns import RoundTurns
from firmament.core.results import Delta, Unscheduled
from firmament.core.rules.gangs.lifecycle import AdmittedTasks, GangLifecycle
from firmament.core.rules.gangs.rebinding import Rebinding
from firmament.core.state.cluster import Cluster
from firmament.core.state.pending_evictions import PendingEvictions
from firmament.core.state.tasks import TaskPhase
from firmament.core.state.waiting import activate

RETRY_SECONDS = 10.0
"""Delay, in seconds, from a change until costly classes are tried again; they are not checked against every change."""


class Requeue:
    """Chooses the tasks that take part in rounds, and requeues tasks for which something has changed.

    ``clock``: returns the time in seconds since the epoch. The other attributes concern waiting tasks too:
    ``reservations``; ``evictions`` under way, and ``moves`` because of them; ``gangs``, and ``rebinding`` of their
    members; the classes ``set_aside``; the ``profiles`` that take turns; and the ``budgets`` of namespaces.
    """

    def __init__(
        self,
        cluster: Cluster,
        static_rows: StaticRows,
        options: RoundOptions,
        clock: Callable[[], float],
        profiles: ProfileChoice,
    ) -> None:
        self._cluster, self._static_rows, self._clock = cluster, static_rows, clock
        self.profiles = profiles
        self.reservations = Reservations(options)
        self.evictions = PendingEvictions()
        self.moves = Renominations(self.evictions)
        self.gangs = GangLifecycle(options, self.evictions)
        self.rebinding = Rebinding()
        self.set_aside = SetAside()
        self.budgets = Budgets(cluster, static_rows.rules, options.namespace_checks, options.class_checks)
        self._costly = CostlyRetries(cluster, self.budgets, clock)
        self._feasible = FeasibleMachines(cluster, static_rows, self.reservations)
        self._stale_reasons = StaleReasons(options.refresh_seconds)
        self._given_up: list[Delta] = []
        self._turns = RoundTurns()
        self.strict_heads = StrictHeads()

    # --- beginning and end of rounds -----------------------------------------------------------------------------

    def open_round(self, only: frozenset[TaskClass] | None, now: float) -> AdmittedTasks:
        """Return the tasks that take part in the round that begins; ``only``: as in ``Scheduler.open_round``."""
        cluster = self._cluster
        if cluster.jobs.had_gangs:
            # If the round fails, the next round reports the gangs that were given up here.
            self._given_up += self.gangs.expire(cluster, now)
        self.refresh()
        cluster.dirty.clear()
        cluster.tasks.begin_round()
        if self.evictions.under_way:
            self.evictions.forget_gone(cluster)
        if self.evictions.chains.any:
            self.evictions.chains.record_successors(cluster)
        self._stale_reasons.open_round(cluster, now)
        waiting = self._list_called(only, now)
        if self.reservations.gangs.due:
            self.reservations.gangs.open_round(cluster)
        admitted = AdmittedTasks(waiting, np.full(len(waiting), -1), np.empty(0, dtype=np.int64), ())
        if cluster.jobs.had_gangs:
            admitted = self.gangs.admit(cluster, waiting, now)
        return admitted

    def _list_called(self, only: frozenset[TaskClass] | None, now: float) -> Int64:
        """Return the rows of the tasks that take part in the round that begins, before gangs are considered."""
        cluster, tasks = self._cluster, self._cluster.tasks
        waiting = tasks.in_state(TaskPhase.PENDING)
        waiting = waiting[~tasks.unschedulable[waiting] & (tasks.not_before[waiting] <= now)]
        if cluster.promises.machine_of:
            waiting = np.append(waiting, cluster.promises.list_called(cluster, waiting))
        if self.evictions.under_way:
            waiting = np.append(waiting, self.moves.list_called(cluster))
        ordered = only is None and QUOTA_RECORD in cluster.records.payloads
        if ordered:
            waiting = self.strict_heads.call(cluster, waiting, now)
        if self.set_aside.why or only is not None:
            waiting = self.set_aside.choose(cluster, waiting, only)
        called = waiting
        is_kept = cluster.promises.others.by_uid or cluster.restarts.by_uid
        if is_kept and only is None:  # Some rounds with ``only`` are trials, which do not take effect.
            waiting = self._turns.choose_turn(cluster, waiting)
        if self.profiles.several:
            waiting = self.profiles.choose_profile(waiting)
        if only is None and (len(waiting) != 1 or self.budgets.limited or cluster.jobs.gangs):
            waiting = self.budgets.choose(waiting)
        if ordered:
            waiting = self.strict_heads.keep_order(called, waiting)
        if self.evictions.under_way and len(waiting) < len(called):
            self.moves.postpone(np.setdiff1d(called, waiting))
        if only is not None:
            return waiting
        for job, why in self.budgets.too_large.items():
            self.gangs.refuse(cluster, job, why)
        self.budgets.too_large.clear()
        return waiting

    @property
    def put_off(self) -> int:
        """The number of tasks that the last round put off to a later round."""
        return self.profiles.put_off + self.budgets.put_off

    def close_round(self) -> tuple[list[Delta], list[Unscheduled]]:
        """Return results in addition to the round's decisions.

        The additional results are deltas to be reported first, and the reasons why some tasks were not tried.
        """
        cluster = self._cluster
        self._stale_reasons.close_round(cluster)
        first = [delta for delta in self._given_up if still_leaves(cluster, delta)]
        self._given_up.clear()
        if self.rebinding.arrival_numbers:
            first += self.rebinding.due(cluster, self._clock())
        unscheduled = self.gangs.take_messages(cluster) if cluster.jobs.had_gangs else []
        if self.set_aside.unreported:
            unscheduled += self.set_aside.take_notices(cluster)
        if self.strict_heads.unreported:
            unscheduled += self.strict_heads.take_notices()
        return first, unscheduled

    def round_closed(self) -> None:
        """Record that a round has taken effect."""
        cluster = self._cluster
        self._stale_reasons.round_closed(cluster)
        if QUOTA_RECORD in cluster.records.payloads:
            self.strict_heads.record_heads(cluster, self._clock())
        if cluster.restarts.by_uid:
            for machine in cluster.restarts.note_taken(cluster.tasks, cluster.machines):
                cluster.mark(machine)

    # --- requeueing after changes --------------------------------------------------------------------------------

    def refresh(self) -> float | None:
        """Update reservations, and requeue tasks that a changed machine could take.

        Return the seconds until machines with reports of use count as changed; None if no machine will.
        """
        if self._is_calm():
            return None
        cluster, held = self._cluster, None
        if cluster.machines.samples.last_change:
            held, rows = cluster.reports.due(self._clock())
            cluster.dirty.machines.update(rows.tolist())
        if cluster.promises.machine_of:
            cluster.promises.refresh(cluster)
        pending = cluster.tasks.in_state(TaskPhase.PENDING)
        if self.reservations.held or self.reservations.gangs.held or cluster.tasks.passed_over[pending].any():
            self.reservations.refresh(cluster, self._static_rows, self._clock())
        if self._stale_reasons.take_due(cluster, self._clock()):
            cluster.dirty.everywhere = True
        if self.evictions.chains.any:
            activate(cluster, np.array(self.evictions.chains.expire(cluster, self._clock()), dtype=np.int64))
        if self._costly.refresh():
            self.gangs.keep_unschedulable(cluster, self._clock())
        self.activate()
        if QUOTA_RECORD in cluster.records.payloads:
            self.strict_heads.requeue_freed(cluster, self._clock())
        if self.evictions.under_way:
            self.moves.note_changes(cluster, self._feasible)
        return held

    def activate(self, placed: frozenset[int] = frozenset()) -> None:
        """Requeue tasks that a changed machine could take, or that tasks of the classes ``placed`` may help."""
        if self._cluster.tasks.any_unschedulable and requeue(self._feasible, self._costly.choose, placed):
            self.gangs.keep_unschedulable(self._cluster, self._clock())

    def next_round_in(self, held: float | None) -> float | None:
        """Return the seconds until a round could place something: 0 for now, None if only an event can help.

        ``held``: what ``refresh`` returned just before.
        """
        tasks, now = self._cluster.tasks, self._clock()
        pending = tasks.in_state(TaskPhase.PENDING)
        if self._is_calm():
            return max(0.0, float(tasks.not_before[pending].min()) - now) if len(pending) else None
        open_now = pending[~tasks.unschedulable[pending]]
        waits = [self.rebinding.next_in(self._cluster, now), self._costly.next_in(now)]
        if self.evictions.chains.any and len(pending):
            waits.append(self.evictions.chains.next_in(now))
        if self._cluster.jobs.had_gangs:
            waits.append(self.gangs.next_in(self._cluster, now))
        waits.append(self.reservations.next_in(now) if len(pending) else None)
        if self.evictions.has_needless(self._cluster) or self.moves.due(self._cluster):
            return 0.0
        if len(open_now):
            waits.append(max(0.0, float(tasks.not_before[open_now].min()) - now))
        elif len(pending):
            waits += [held, self._stale_reasons.next_in(self._cluster, now)]
        return min((wait for wait in waits if wait is not None), default=None)

    def _is_calm(self) -> bool:
        """Return whether all waiting tasks are new, and there are no reservations, evictions or reports of use.

        In a calm cluster, neither changes nor the passing of time could help other tasks, so nothing else has to be
        checked.
        """
        cluster, tasks, held = self._cluster, self._cluster.tasks, self.reservations
        if cluster.jobs.had_gangs or cluster.machines.samples.last_change or cluster.promises.machine_of:
            return False
        if held.held or held.gangs.held or self.evictions.under_way or self.evictions.chains.any:
            return False
        if self.rebinding.arrival_numbers or self._costly.since is not None:
            return False
        pending = tasks.in_state(TaskPhase.PENDING)
        return not len(pending) or not (tasks.unschedulable[pending] | (tasks.passed_over[pending] > 0)).any()


_Token = tuple[int, int]


class StaleReasons:
    """Decides when rounds include unschedulable tasks to bring their reasons up to date.

    When a machine is cordoned, filled or removed, no task is requeued, but the counts in the reasons of unschedulable
    tasks become wrong. Unschedulable tasks therefore take part in a round once more: at most every ``every`` seconds
    (infinity: never), and only after a change of machines. The refresh also limits how long a task waits if the
    solver did not recognise an event that could have helped it, like kube-scheduler's periodic flush of unschedulable
    pods.
    """

    def __init__(self, every: float) -> None:
        self._every = every
        self._seen: _Token = (0, 0)
        self._told_at = float("-inf")
        self._all_take_part = self._told_all = False

    def take_due(self, cluster: Cluster, now: float) -> bool:
        """Return whether the unschedulable tasks should take part in a round now; if so, record that they do."""
        left = self.next_in(cluster, now)
        if left is None or left > 0:
            return False
        self._note(cluster, now)
        return True

    def next_in(self, cluster: Cluster, now: float) -> float | None:
        """Return the seconds until unschedulable tasks should take part; None if nothing changed or there are none."""
        if math.isinf(self._every) or _token(cluster) == self._seen or not cluster.tasks.any_unschedulable:
            return None
        return max(0.0, self._told_at + self._every - now)

    def open_round(self, cluster: Cluster, now: float) -> None:
        """Begin a round, whose tasks get reasons for the machines' present state."""
        self._all_take_part = not cluster.tasks.any_unschedulable
        if self._all_take_part:
            self._note(cluster, now)

    def close_round(self, cluster: Cluster) -> None:
        """Prepare to put a round into effect; its own placements do not outdate the reasons of the tasks in it.

        Changes that others made while the round was solved do outdate these reasons.
        """
        self._told_all = self._all_take_part and _token(cluster) == self._seen

    def round_closed(self, cluster: Cluster) -> None:
        """Record that a round has taken effect."""
        if self._told_all:
            self._seen = _token(cluster)

    def _note(self, cluster: Cluster, now: float) -> None:
        self._seen = _token(cluster)
        self._told_at = now


def _token(cluster: Cluster) -> _Token:
    machines = cluster.machines
    return machines.static_version, machines.changes.count


class CostlyRetries:
    """Unschedulable tasks that are too expensive to check against every change; they are retried at intervals.

    To find out whether a change could help a task with hundreds of rules, each rule must be asked. If the waiting
    classes have more rules than a round may evaluate (see ``queue.work_budgets``), expensive classes are not checked.
    All expensive classes are retried some seconds after the first change. The tasks of a namespace are also not
    checked if the namespace has more kinds of ordinary tasks than a round with other namespaces would take.
    ``clock``: returns the time in seconds since the epoch.
    """

    def __init__(self, cluster: Cluster, budgets: Budgets, clock: Callable[[], float]) -> None:
        self._cluster, self._budgets, self._clock = cluster, budgets, clock
        self.since: float | None = None
        """Time of the first change that was not checked against the costly tasks; None if all changes were."""

    def choose(self, unschedulable: Int64) -> Int64:
        """Return those of ``unschedulable`` (task rows) that should be checked against a new change."""
        costly = self._costly(unschedulable)
        if not costly.any():
            return unschedulable
        if self.since is None:
            self.since = self._clock()
        return unschedulable[~costly]

    def next_in(self, now: float) -> float | None:
        """Return the seconds until the costly tasks are retried; None if nothing has changed for them."""
        return None if self.since is None else max(0.0, self.since + RETRY_SECONDS - now)

    def refresh(self) -> bool:
        """Retry the costly tasks if it is time; return whether it was."""
        if self.since is None or self.next_in(self._clock()):
            return False
        self.since = None
        unschedulable = self._cluster.tasks.list_unschedulable()
        activate(self._cluster, unschedulable[self._costly(unschedulable)])
        return True

    def _costly(self, unschedulable: Int64) -> Bool:
        """Return which tasks are too expensive to check: bool[N]."""
        return self._budgets.find_costly(unschedulable)
