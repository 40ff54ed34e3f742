"""Finds the class that makes rounds fail again and again, and sets it aside."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from firmament.core.requeue.set_aside import find_culprits
from firmament.solvers.base import SolverError

if TYPE_CHECKING:
    from firmament.core.model import TaskClass
    from firmament.core.scheduler import Scheduler

log = logging.getLogger(__name__)

MOST_TRIALS = 100
"""The most trial rounds of one search: 40 suffice to find one class among a million."""


class FailingRounds:
    """Counts how many rounds of a cluster failed in a row before they took effect.

    ``lock``: guards the cluster's scheduler.
    """

    def __init__(self, name: str, lock: AbstractContextManager[object]) -> None:
        self._name = name
        self._lock = lock
        self._failures = 0

    def note_success(self) -> None:
        """Reset the number of failures in a row, because a round has been solved."""
        self._failures = 0

    def note_failure(self, scheduler: Scheduler, error: Exception) -> int:
        """Count a failed round; return how many classes were set aside because of it.

        The search runs at the second failure, the fourth, the eighth and so on. No class is set aside in three cases:
        the solver itself fails, the failure does not occur with a single class alone, or it occurs with every class.
        As in rounds, the lock is not held while a trial is solved.
        """
        self._failures += 1
        if self._failures < 2 or self._failures & (self._failures - 1) or isinstance(error, SolverError):
            return 0
        with self._lock:
            candidates = scheduler.waiting_classes()

        def fails(contents: Sequence[TaskClass]) -> bool:
            try:
                with self._lock:
                    opened = scheduler.open_round(only=frozenset(contents))
                opened.solve()
            except Exception:  # noqa: BLE001 - whatever it is: that is the question
                return True
            return False

        found = find_culprits(candidates, fails, MOST_TRIALS) if len(candidates) > 1 else []
        with self._lock:
            if found:
                why = f"the scheduler fails over pods like this one ({type(error).__name__}); see its log"
                scheduler.set_aside(found, why)
                self._failures = 0
            scheduler.try_all_again()
        for content in found:
            log.error(
                "class set aside until it is defined again cluster=%s namespace=%r requests=%r error=%r",
                self._name,
                content.namespace[:200],
                content.requests[:10],
                f"{type(error).__name__}: {error}"[:500],
            )
        return len(found)
