"""Who is tried again, and when a round could achieve something: parked tasks, back-offs, reservations, gangs."""

from __future__ import annotations

from collections.abc import Callable

from firmament.core.filters.node_filters import StaticRows
from firmament.core.gangs.lifecycle import Gangs
from firmament.core.gangs.rebinding import Rebinding
from firmament.core.queue.reservations import Reservations
from firmament.core.requeue.relocation import Moves
from firmament.core.requeue.stale_reasons import StaleReasons
from firmament.core.requeue.unschedulable import wake
from firmament.core.state.cluster import Cluster
from firmament.core.state.pending_evictions import Evictions
from firmament.core.state.tasks import State


class Waking:
    """Wakes those of a cluster's tasks for whom something has changed. ``clock``: seconds since the epoch."""

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

    def wake(self) -> float | None:
        """Bring reservations up to date and unpark what a marked machine could take.

        Returns the seconds after which machines will be marked that were reported about, None if none will.
        """
        held = self._cluster.mark_sampled(self._clock())
        self._cluster.promises.refresh(self._cluster)
        self._reservations.refresh(self._cluster, self._static_rows, self._clock())
        if self._stale_reasons.take(self._cluster, self._clock()):
            self._cluster.marks.everywhere = True
        self.unpark()
        self._moves.look(self._cluster, self._static_rows, self._reservations)
        return held

    def unpark(self, placed: frozenset[int] = frozenset()) -> None:
        """Unpark what a marked machine could take, or classes to which those ``placed`` make a difference."""
        if wake(self._cluster, self._static_rows, self._reservations, placed):
            self._gangs.keep_asleep(self._cluster, self._clock())

    def next_round_in(self, held: float | None) -> float | None:
        """Seconds until a round could achieve something: 0 for now, None for not before another event.

        ``held``: what ``wake`` returned just before.
        """
        tasks, now = self._cluster.tasks, self._clock()
        pending = tasks.in_state(State.PENDING)
        open_now = pending[~tasks.parked[pending]]
        waits = [self._gangs.next_in(self._cluster, now), self._rebinding.next_in(self._cluster, now)]
        waits.append(self._reservations.next_in(now) if len(pending) else None)
        if self._evictions.has_needless(self._cluster) or self._moves.due(self._cluster):
            return 0.0
        if len(open_now):
            waits.append(max(0.0, float(tasks.not_before[open_now].min()) - now))
        elif len(pending):
            waits += [held, self._stale_reasons.next_in(self._cluster, now)]
        return min((wait for wait in waits if wait is not None), default=None)
