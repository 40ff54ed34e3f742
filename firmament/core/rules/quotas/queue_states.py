"""Reports after each round the quotas for which the use, or the number of waiting tasks, has changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.quota_terms import QuotaTerms
from firmament.core.constraints.remaining_quota import RemainingQuota
from firmament.core.record_kinds import QUOTA_RECORD
from firmament.core.results import QueueState, QuotaUse
from firmament.core.rules.quotas.compilation import build_terms
from firmament.core.rules.quotas.stated_quotas import QUEUE, read_stated_quotas
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase


@dataclass(frozen=True, slots=True)
class _QuotaFigures:
    """The figures of all quotas without fault; one row per quota."""

    names: tuple[str, ...]
    """The names of the N quotas."""
    columns: tuple[tuple[str, str], ...]
    """Flavor and resource of each of the J columns."""
    total: Int64
    """int64[N, J], the amounts that tasks of a quota and of the quotas below it use."""
    borrowed: Int64
    """int64[N, J], the amounts that a quota uses beyond its nominal amounts."""
    available: Int64
    """int64[N, J], the amounts that tasks of a quota can still take."""
    stated: Bool
    """bool[N, J], whether a quota states a nominal amount for the column."""
    waiting: Int64
    """int64[N], number of a quota's tasks without a machine."""
    admitted: Int64
    """int64[N], number of a quota's tasks with a machine."""

    def find_changed(self, before: _QuotaFigures | None) -> Int64:
        """Return the rows whose figures differ from ``before``; all rows if names or columns differ."""
        every = np.arange(len(self.names))
        if before is None or (before.names, before.columns) != (self.names, self.columns):
            return every
        same = (self.waiting == before.waiting) & (self.admitted == before.admitted)
        for now, then in (
            (self.total, before.total),
            (self.borrowed, before.borrowed),
            (self.available, before.available),
            (self.stated, before.stated),
        ):
            same &= (now == then).all(axis=1)
        return every[~same]

    def describe(self, row: int) -> QueueState:
        """Return the state of one quota (row), for a report."""
        shown = np.flatnonzero(self.stated[row] | (self.total[row] > 0)).tolist()
        uses = tuple(
            QuotaUse(
                *self.columns[column],
                int(self.total[row, column]),
                int(self.borrowed[row, column]),
                int(self.available[row, column]),
            )
            for column in shown
        )
        return QueueState(self.names[row], uses, int(self.waiting[row]), int(self.admitted[row]))


class QueueStates:
    """Remembers the last reported state of each quota of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._reported: _QuotaFigures | None = None
        self._reported_faults: dict[str, QueueState] = {}

    def list_changed(self) -> tuple[QueueState, ...]:
        """Return the state of each quota that has changed since the last report."""
        cluster = self._cluster
        if not cluster.records.payloads.get(QUOTA_RECORD):
            self._reported, self._reported_faults = None, {}
            return ()
        waiting, admitted = _count_tasks(cluster)
        figures = _compute_figures(cluster, waiting, admitted)
        changed = [figures.describe(row) for row in figures.find_changed(self._reported).tolist()]
        self._reported = figures
        faulty = {
            name: QueueState(name, (), waiting.get(name, 0), admitted.get(name, 0), quota.fault)
            for name, quota in read_stated_quotas(cluster).faulty.items()
        }
        changed += [state for name, state in faulty.items() if self._reported_faults.get(name) != state]
        self._reported_faults = faulty
        return tuple(changed)


def _count_tasks(cluster: Cluster) -> tuple[dict[str, int], dict[str, int]]:
    """Return, by queue, the number of tasks without a machine, and of tasks with a machine."""
    classes = cluster.classes.list_stating(QUEUE)
    tasks, rows = cluster.tasks, cluster.classes.rows
    size = len(tasks.uid)
    counts: list[dict[str, int]] = []
    for chosen in (tasks.state[:size] == TaskPhase.PENDING, tasks.find_placed()):
        found = np.bincount(tasks.cls[:size][chosen], minlength=len(rows))
        by_queue: dict[str, int] = {}
        for cls in classes:
            if found[cls]:
                name = rows[cls].content.queue
                by_queue[name] = by_queue.get(name, 0) + int(found[cls])
        counts.append(by_queue)
    return counts[0], counts[1]


def _compute_figures(cluster: Cluster, waiting: dict[str, int], admitted: dict[str, int]) -> _QuotaFigures:
    terms: QuotaTerms = build_terms(cluster, ())
    use, tree = RemainingQuota(terms).use, terms.tree
    return _QuotaFigures(
        names=terms.names,
        columns=terms.columns,
        total=use.total,
        borrowed=np.maximum(use.used - tree.subtree, 0),
        available=use.compute_available(),
        stated=read_stated_quotas(cluster).stated,
        waiting=np.array([waiting.get(name, 0) for name in terms.names], dtype=np.int64),
        admitted=np.array([admitted.get(name, 0) for name in terms.names], dtype=np.int64),
    )
