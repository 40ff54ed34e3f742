"""Reasons that may be out of date: machines have changed, though in no way that could help those who wait.

A machine that is cordoned, filled or taken away wakes nobody, and yet the counts in what parked tasks were told are
wrong from then on. So they take part in a round once more, some time after such a change. That also bounds how long a
task sleeps if an event that could have helped it was not recognised as such, as kube-scheduler's periodic flush of its
unschedulable pods does.
"""

from __future__ import annotations

import math

import numpy as np

from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import State

_Token = tuple[int, int]


class StaleReasons:
    """When parked tasks are to take part in a round again: at most every ``every`` seconds, and only after changes.

    Infinity: never.
    """

    def __init__(self, every: float) -> None:
        self._every = every
        self._seen: _Token = (0, 0)
        self._told_at = float("-inf")
        self._all_take_part = self._told_all = False

    def take(self, cluster: Cluster, now: float) -> bool:
        """Whether parked tasks are to take part now; the caller lets them, so that it is not said twice."""
        left = self.next_in(cluster, now)
        if left is None or left > 0:
            return False
        self._note(cluster, now)
        return True

    def next_in(self, cluster: Cluster, now: float) -> float | None:
        """Seconds until parked tasks are to take part, None if nothing has changed or nobody is parked."""
        if math.isinf(self._every) or _token(cluster) == self._seen or not _parked(cluster):
            return None
        return max(0.0, self._told_at + self._every - now)

    def open_round(self, cluster: Cluster, now: float) -> None:
        """A round begins: whoever takes part in it is told how machines are by then."""
        self._all_take_part = not _parked(cluster)
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


def _parked(cluster: Cluster) -> bool:
    """Whether a task waits that is not tried; those refused for good are not meant."""
    tasks = cluster.tasks
    size = len(tasks.uid)
    waits = tasks.parked[:size] & ~tasks.refused[:size] & (tasks.state[:size] == State.PENDING)
    return bool(np.any(waits))
