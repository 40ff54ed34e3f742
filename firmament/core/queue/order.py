"""Says in which order waiting tasks come: by importance, fair share and quality of service; among equals by age.

``TaskTable.age_keys`` says which of two tasks is older. ``importance.py`` compares priorities,
``fair_shares.py`` computes the levels of fair shares, and ``namespace_turns.py`` lets namespaces take turns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from cost_models.interface import Int64
from firmament.core.constraints.pairs import PairRules
from firmament.core.queue.importance import Importance
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import UNGROUPED, TaskTable

_QUALITY: Mapping[str, int] = MappingProxyType({"Guaranteed": 2, "Burstable": 1, "BestEffort": 0})

_UNKNOWN = 1


def sort_by_age(tasks: TaskTable, rows: Int64, *before: Int64) -> Int64:
    """Return the indices that sort tasks (int64[N] rows) from the oldest to the newest.

    The task created first is the oldest; of tasks created at the same time, the one that arrived first. ``before``:
    further keys, int64[N] each, that count more than age; the last one counts most.
    """
    return np.lexsort((*tasks.age_keys(rows), *before))


def rank_groups(
    cluster: Cluster,
    classes: Int64,
    priority: Int64,
    group_priority: Int64,
    levels: Int64,
    pairs: PairRules,
    *,
    by_quality: bool,
) -> Int64:
    """Return the rank of each group of equal tasks by importance, fair share and quality of service: int64[C], 0 last.

    ``classes``, ``priority``, ``group_priority``, ``levels``: of each group, int64[C]. ``by_quality``: whether the
    quality of service counts.
    """
    importance, quality = priority, np.zeros(len(classes), dtype=np.int64)
    if (group_priority != UNGROUPED).any():
        importance = Importance.from_tasks(cluster.tasks).rank_waiting(priority, group_priority)
    if by_quality:
        quality = _qualities(cluster, classes.tolist(), pairs)
    return rank_classes(importance, levels, quality)


def rank_classes(order: Int64, levels: Int64, quality: Int64) -> Int64:
    """Return ranks, int64[C], 0 for the last.

    Classes are compared by order, then level (-1 to 2), then quality (0 to 2), each int64[C].
    """
    return np.unique(12 * order + 3 * levels + quality, return_inverse=True)[1].astype(np.int64)


def _qualities(cluster: Cluster, classes: Sequence[int], pairs: PairRules) -> Int64:
    """Return the ranks of the QoS classes of ``classes`` (rows of the class table): int64[C].

    Tasks of an application stay together, whatever their quality: the order of their workloads decides among them
    (TopologicalSort of kubernetes-sigs/scheduler-plugins).
    """
    table = cluster.classes.rows
    found = np.array([_QUALITY.get(table[row].content.qos, _UNKNOWN) for row in classes], dtype=np.int64)
    found[pairs.find_paired(len(found))] = _UNKNOWN
    return found
