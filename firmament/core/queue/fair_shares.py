"""Divides the cluster among namespaces by fair shares, if capacity does not suffice for all.

Each namespace that uses or wants something is entitled to a part of the cluster in proportion to its weight. What a
namespace does not want is divided among the others (weighted max-min fairness over dominant shares: Ghodsi et al.,
Dominant Resource Fairness, NSDI 2011). Among waiting tasks of equal priority, those within the share of their
namespace come before those beyond it. Tasks beyond the share are placed too as long as they fit, so no capacity stays
idle, and no task is evicted for fair shares. So the shares in use approach the weights as tasks end.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.configuration import FairShare
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase


def share_levels(cluster: Cluster, fair_share: FairShare, waiting: Int64) -> Int64:
    """Return whether each of the ``waiting`` tasks (rows) is within its namespace's fair share: int64[N].

    2: the task is within its namespace's share by weight, given all that other namespaces want, even if their tasks
    fit nowhere now. A namespace thus keeps its claim to a share while its tasks are unschedulable. 1: the task is
    within its namespace's share only if other namespaces get no more than their tasks in this round want. 0: the task
    is beyond the share. Within a namespace, the most important and longest waiting tasks count first.
    """
    tasks = cluster.tasks
    names, of_class = _namespaces(cluster)
    capacity = np.maximum(cluster.machines.capacity, 0).sum(axis=0).astype(np.float64)
    on = np.flatnonzero(tasks.machine[: len(tasks.uid)] >= 0)
    pending = tasks.in_state(TaskPhase.PENDING)
    used = _amounts(cluster, on, of_class, len(names))
    weights = np.array([fair_share.weight(name) for name in names])
    per_task = _dominant(cluster.demand_of(tasks.cls[waiting])[0], capacity)
    order = tasks.sort_by_age(waiting, -tasks.priority[waiting])
    namespace = of_class[tasks.cls[waiting]]
    levels = np.zeros(len(waiting), dtype=np.int64)
    for level, claims in ((1, waiting), (2, pending[~tasks.refused[pending]])):
        wanted = used + _amounts(cluster, claims, of_class, len(names))
        allowance = _targets(_dominant(wanted, capacity), weights) - _dominant(used, capacity)
        for each in np.unique(namespace).tolist():
            rows = order[namespace[order] == each]
            # The task that crosses the limit counts as within the share if more than half of it is.
            within = np.cumsum(per_task[rows]) - per_task[rows] / 2 < allowance[each]
            levels[rows[within]] = level
    return levels


def _namespaces(cluster: Cluster) -> tuple[list[str], Int64]:
    """Return the names of all namespaces, and int64[classes]: the index of each class's namespace."""
    index: dict[str, int] = {}
    of_class = [index.setdefault(row.content.namespace, len(index)) for row in cluster.classes.rows]
    return list(index), np.array(of_class, dtype=np.int64)


def _amounts(cluster: Cluster, rows: Int64, of_class: Int64, namespaces: int) -> Float64:
    """Return what the tasks ``rows`` of each namespace request in all: float64[namespaces, K]."""
    total = np.zeros((namespaces, len(cluster.resources)))
    classes = cluster.tasks.cls[rows]
    np.add.at(total, of_class[classes], cluster.demand_of(classes)[0])
    return total


def _dominant(amounts: Float64 | Int64, capacity: Float64) -> Float64:
    """Return the largest share that amounts have of any of the cluster's resources (the dominant share): float64[N]."""
    offered = capacity > 0
    if not offered.any():
        return np.zeros(len(amounts))
    shares: Float64 = (amounts[:, offered] / capacity[offered]).max(axis=1)
    return shares


def _targets(wanted: Float64, weights: Float64) -> Float64:
    """Return the weighted max-min fair division of one cluster among namespaces; ``wanted``: dominant shares."""
    targets = np.zeros_like(wanted)
    left, open_to = 1.0, wanted > 0
    while open_to.any() and left > 0:
        offer = left * weights * open_to / weights[open_to].sum()
        content = open_to & (wanted - targets <= offer)
        if not content.any():
            return targets + offer
        left -= float((wanted - targets)[content].sum())
        targets[content] = wanted[content]
        open_to &= ~content
    return targets
