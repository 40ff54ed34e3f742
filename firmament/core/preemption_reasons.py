"""Says why evicting others would not help a task that stays pending, in kube-scheduler's words."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core import reasons
from firmament.core.cluster import Cluster
from firmament.core.feasibility import lacking
from firmament.core.pinning import pinned_rows
from firmament.core.tasks import State

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
NEVER = " preemption: not eligible due to preemptionPolicy=Never."


def evictable(cluster: Cluster, rows: Int64, priority: int) -> tuple[Int64, Int64]:
    """What evictions for a task of ``priority`` would give back on the machines ``rows``: int64[A, K], and the number
    of tasks that would go: int64[A]. What leaves anyway is given back, but is nobody's victim.
    """
    tasks = cluster.tasks
    size = len(tasks.uid)
    bound = (tasks.state[:size] == State.BOUND) & (tasks.machine[:size] >= 0)
    going = np.flatnonzero(bound & ((tasks.priority[:size] < priority) | tasks.leaving[:size]))
    place = np.full(len(cluster.machines), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    going = going[place[tasks.machine[going]] >= 0]
    given = np.zeros((len(rows), len(cluster.resources)), dtype=np.int64)
    victims = np.zeros(len(rows), dtype=np.int64)
    if len(going):
        classes, of_class = np.unique(tasks.cls[going], return_inverse=True)
        requests = cluster.request_rows([cluster.classes.rows[row].shape for row in classes.tolist()])
        at = place[tasks.machine[going]]
        np.add.at(given, at, requests[of_class])
        np.add.at(victims, at, (~tasks.leaving[going]).astype(np.int64))
    return given, victims


class PreemptionReasons:
    """Sentences for the tasks of one round."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        tasks = cluster.tasks
        bound = tasks.in_state(State.BOUND)
        self._lowest = int(tasks.priority[bound].min()) if len(bound) else None

    def told(self, cls: int, priority: int, usable: Bool) -> str:
        """A sentence about tasks of class row ``cls``; empty if there is nobody less important.

        ``usable``: bool[M], machines that neither rules about machines nor models refuse.
        """
        cluster = self._cluster
        content = cluster.classes.rows[cls].content
        if self._lowest is None or priority <= self._lowest or content.invalid or not len(usable):
            return ""
        if content.never_preempts:
            return NEVER
        pinned = pinned_rows(cluster, cls)
        if pinned is not None:
            inside = np.zeros_like(usable)
            inside[pinned] = True
            usable = usable & inside
        rows = np.flatnonzero(usable)
        given, victims = evictable(cluster, rows, priority)
        free = (cluster.machines.capacity - cluster.machines.used)[rows] + given
        request = cluster.request_of(cls)
        lack = lacking(free[:, : len(request)], request)
        counts: dict[str, int] = {}
        for code, count in zip(*np.unique(lack[victims > 0], return_counts=True), strict=True):
            text = reasons.insufficient(cluster.resources.names[code]) if code >= 0 else NO_VICTIMS
            counts[text] = counts.get(text, 0) + int(count)
        none = int((victims == 0).sum())
        if none:
            counts[NO_VICTIMS] = counts.get(NO_VICTIMS, 0) + none
        if len(rows) < len(usable):
            counts[NOT_HELPFUL] = len(usable) - len(rows)
        return f" preemption: {reasons.summarise(len(usable), list(counts.items()))}"
