"""Who is tried again, and when a round could achieve something: back-offs, reservations, gangs, reasons out of date."""

from __future__ import annotations

import math
from collections.abc import Callable

from firmament.core.filters.node_filters import StaticRows
from firmament.core.gangs.lifecycle import Gangs
from firmament.core.gangs.members import Rebinding
from firmament.core.queue.reservations import Reservations
from firmament.core.requeue.relocation import Moves
from firmament.core.requeue.unschedulable import requeue
from firmament.core.state.cluster import Cluster
from firmament.core.state.pending_evictions import Evictions
from firmament.core.state.tasks import State


class Requeue:
    """Requeues those of a cluster's tasks for whom something has changed. ``clock``: seconds since the epoch."""

    def __init__(
        self,
        cluster: Cluster,
        static_rows: StaticRows,
        clock: Callable[[], float],
        *,
        reservations: Reservations,
        evictions: Evictions,
        moves: Moves,
        gangs: Gangs,
        rebinding: Rebinding,
        stale_reasons: StaleReasons,
    ) -> None:
        self._cluster = cluster
        self._static_rows = static_rows
        self._clock = clock
        self._reservations = reservations
        self._evictions = evictions
        self._moves = moves
        self._gangs = gangs
        self._rebinding = rebinding
        self._stale_reasons = stale_reasons

    def refresh(self) -> float | None:
        """Bring reservations up to date and requeue what a marked machine could take.

        Returns the seconds after which machines will be marked that were reported about, None if none will.
        """
        cluster, held = self._cluster, None
        if cluster.machines.samples.last_change:
            held, rows = cluster.reports.due(self._clock())
            cluster.dirty.machines.update(rows.tolist())
        if self._cluster.promises.machine_of:
            self._cluster.promises.refresh(self._cluster)
        if self._reservations.held or self._cluster.tasks.passed_over.any():
            self._reservations.refresh(self._cluster, self._static_rows, self._clock())
        if self._stale_reasons.take(self._cluster, self._clock()):
            self._cluster.dirty.everywhere = True
        self.activate()
        if self._evictions.under_way:
            self._moves.look(self._cluster, self._static_rows, self._reservations)
        return held

    def activate(self, placed: frozenset[int] = frozenset()) -> None:
        """Requeue what a marked machine could take, or classes to which those ``placed`` make a difference."""
        if self._cluster.tasks.any_unschedulable and requeue(
            self._cluster, self._static_rows, self._reservations, placed
        ):
            self._gangs.keep_unschedulable(self._cluster, self._clock())

    def next_round_in(self, held: float | None) -> float | None:
        """Seconds until a round could achieve something: 0 for now, None for not before another event.

        ``held``: what ``refresh`` returned just before.
        """
        tasks, now = self._cluster.tasks, self._clock()
        pending = tasks.in_state(State.PENDING)
        open_now = pending[~tasks.unschedulable[pending]]
        waits = [self._gangs.next_in(self._cluster, now), self._rebinding.next_in(self._cluster, now)]
        waits.append(self._reservations.next_in(now) if len(pending) else None)
        if self._evictions.has_needless(self._cluster) or self._moves.due(self._cluster):
            return 0.0
        if len(open_now):
            waits.append(max(0.0, float(tasks.not_before[open_now].min()) - now))
        elif len(pending):
            waits += [held, self._stale_reasons.next_in(self._cluster, now)]
        return min((wait for wait in waits if wait is not None), default=None)


_Token = tuple[int, int]


class StaleReasons:
    """Reasons that may be out of date: machines have changed, though in no way that could help those who wait.

    A machine that is cordoned, filled or taken away has nobody requeued, and yet the counts in what unschedulable tasks
    were told are wrong from then on. So they take part in a round once more: at most every ``every`` seconds (infinity:
    never), and only after such changes. That also bounds how long a task is left out if an event that could have helped
    it was not recognised as such, as kube-scheduler's periodic flush of its unschedulable pods does.
    """

    def __init__(self, every: float) -> None:
        self._every = every
        self._seen: _Token = (0, 0)
        self._told_at = float("-inf")
        self._all_take_part = self._told_all = False

    def take(self, cluster: Cluster, now: float) -> bool:
        """Whether unschedulable tasks are to take part now; the caller lets them, so that it is not said twice."""
        left = self.next_in(cluster, now)
        if left is None or left > 0:
            return False
        self._note(cluster, now)
        return True

    def next_in(self, cluster: Cluster, now: float) -> float | None:
        """Seconds until unschedulable tasks are to take part, None if nothing has changed or there are none."""
        if math.isinf(self._every) or _token(cluster) == self._seen or not cluster.tasks.any_unschedulable:
            return None
        return max(0.0, self._told_at + self._every - now)

    def open_round(self, cluster: Cluster, now: float) -> None:
        """A round begins: whoever takes part in it is told how machines are by then."""
        self._all_take_part = not cluster.tasks.any_unschedulable
        if self._all_take_part:
            self._note(cluster, now)

    def close_round(self, cluster: Cluster) -> None:
        """A round is about to be put into effect: what it places is in what it tells to those who take part.

        What others did while it was solved is not.
        """
        self._told_all = self._all_take_part and _token(cluster) == self._seen

    def round_closed(self, cluster: Cluster) -> None:
        """A round has been put into effect."""
        if self._told_all:
            self._seen = _token(cluster)

    def _note(self, cluster: Cluster, now: float) -> None:
        self._seen = _token(cluster)
        self._told_at = now


def _token(cluster: Cluster) -> _Token:
    machines = cluster.machines
    return machines.static_version, machines.changes.count
