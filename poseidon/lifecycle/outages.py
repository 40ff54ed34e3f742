"""Pods that wait while no solver answers: they are told so, since nobody else says why they stay pending."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from poseidon.lifecycle.actions import AnnounceUnschedulable
    from poseidon.lifecycle.pending_reasons import PendingReasons
    from poseidon.lifecycle.pods import Tasks

OUTAGE_SECONDS = 30.0
"""How long no solver answers before pods are told: a restart takes a few seconds, and is no news."""
_LOOK_SECONDS = 5.0

MESSAGE = "no node chosen: the solver has not answered for a while; the pod is placed when it does"


class Outages:
    """Tells each waiting pod once, until a solver has said something else of it. ``clock`` is monotonic."""

    def __init__(self, tasks: Tasks, pending_reasons: PendingReasons, clock: Callable[[], float]) -> None:
        self._tasks = tasks
        self._pending_reasons = pending_reasons
        self._clock = clock
        self._began: float | None = None
        self._look_at = 0.0

    def look(self, *, solver_answers: bool) -> list[AnnounceUnschedulable]:
        """Take whether a solver answers at present; return what is to be said. To be called about every second."""
        now = self._clock()
        if solver_answers:
            self._began = None
            return []
        if self._began is None:
            self._began = now
            self._look_at = now + OUTAGE_SECONDS
        if now < self._look_at:
            return []
        self._look_at = now + _LOOK_SECONDS
        waiting = [
            record
            for record in self._tasks
            if record.schedulable and not record.place and not record.waits_for and record.message != MESSAGE
        ]
        return [self._pending_reasons.undecided(record, MESSAGE) for record in waiting]
