"""A rule over the whole cluster that the scheduler does not have: what tasks of one namespace take together."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64, JointRows, Needs
from firmament.core.model import TaskClass, TaskSelector
from firmament.core.rules.framework.limit_rule import LimitRule, RoundDemand
from firmament.core.state.cluster import Cluster

NAMESPACE, MOST = "shop", 3000
FULL = "the namespace's quota of cpu is used up"


class NamespaceQuota(LimitRule):
    """Tasks of a namespace take so much of a resource at most, wherever they are: one row, which machines share."""

    name = "NamespaceQuota"
    for_tasks_with = ("namespace",)
    needs = Needs(namespaces=True)

    def limit(self, cluster: Cluster, demand: RoundDemand, free: Int64) -> tuple[Int64, list[JointRows]]:
        """Return the one row."""
        shapes, column = cluster.classes.shapes, cluster.resources.names.index("cpu")
        concerned = [shapes[shape].namespace == NAMESPACE for shape in demand.shapes]
        amount = np.where(concerned, demand.requests[:, column], 0)
        left = np.array([MOST - self._taken(cluster, column, demand.without)])
        return free, [JointRows(np.zeros(len(free), dtype=np.int64), amount, left, FULL)]

    def _taken(self, cluster: Cluster, column: int, without: int) -> int:
        """What tasks on machines have taken."""
        tasks = cluster.tasks
        on = np.flatnonzero(tasks.machine[: len(tasks.uid)] >= 0)
        rows = cluster.classes.rows
        mine = [
            row for row in on[on != without].tolist() if rows[tasks.cls[row]].content.namespace == NAMESPACE
        ]
        return int(cluster.demand_of(tasks.cls[mine])[0][:, column].sum())

    def select_awaited_tasks(self, content: TaskClass) -> tuple[TaskSelector, ...]:
        """Return all tasks of the namespace."""
        return (TaskSelector(namespaces=(NAMESPACE,)),) if content.namespace == NAMESPACE else ()
