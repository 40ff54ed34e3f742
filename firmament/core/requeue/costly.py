"""Unschedulable tasks that it is too much work to look at whenever something changes: they are tried now and then.

Whether a change could help a task with hundreds of rules is a question to each of them. Where classes wait that have
more of them together than a round may look at (see ``queue.budgets``), the expensive ones are not asked, but tried
again as a whole some seconds after the first change.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.queue.budgets import Budgets
from firmament.core.state.cluster import Cluster
from firmament.core.state.waiting import activate

RETRY_SECONDS = 10.0


class CostlyRetries:
    """When the tasks that are not looked at are tried again. ``clock``: seconds since the epoch."""

    def __init__(self, cluster: Cluster, budgets: Budgets, clock: Callable[[], float]) -> None:
        self._cluster, self._budgets, self._clock = cluster, budgets, clock
        self._since: float | None = None

    def choose(self, unschedulable: Int64) -> Int64:
        """Return those of ``unschedulable`` (task rows) that are to be held against a change that has come."""
        costly = self._costly(unschedulable)
        if not costly.any():
            return unschedulable
        if self._since is None:
            self._since = self._clock()
        return unschedulable[~costly]

    def next_in(self, now: float) -> float | None:
        """Return the seconds until the others are to be tried again; None if nothing has changed for them."""
        return None if self._since is None else max(0.0, self._since + RETRY_SECONDS - now)

    def refresh(self) -> bool:
        """Let them take part in rounds again, if it is time; returns whether it was."""
        if self._since is None or self.next_in(self._clock()):
            return False
        self._since = None
        tasks = self._cluster.tasks
        size = len(tasks.uid)
        unschedulable = np.flatnonzero(tasks.unschedulable[:size] & ~tasks.refused[:size])
        activate(self._cluster, unschedulable[self._costly(unschedulable)])
        return True

    def _costly(self, unschedulable: Int64) -> Bool:
        """Return bool[N]: whose classes are expensive, where these are too many to be looked at."""
        cls = self._cluster.tasks.cls[unschedulable]
        return np.isin(cls, self._budgets.too_many(np.unique(cls)))
