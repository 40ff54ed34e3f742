"""Lets namespaces take turns if only few tasks can be served: the namespace served last comes last."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.queue.order import sort_by_age
from firmament.core.state.cluster import Cluster

MOST_NAMESPACES = 10_000
"""Number of namespaces for which the last turn is remembered; the one served longest ago is forgotten first."""


class Turns:
    """Remembers when a task of each namespace was last tried."""

    def __init__(self) -> None:
        self._served: dict[str, int] = {}
        self._count = 0

    def serve(self, namespace: str) -> None:
        """Record that a namespace is served now."""
        self._count += 1
        self._served.pop(namespace, None)
        self._served[namespace] = self._count
        if len(self._served) > MOST_NAMESPACES:
            del self._served[next(iter(self._served))]

    def get_last_turn(self, namespace: str) -> int:
        """Return the number of a namespace's last turn; a lower number is longer ago."""
        return self._served.get(namespace, 0)

    def order(self, cluster: Cluster, rows: Int64) -> list[int]:
        """Return tasks (int64[N] rows) in an order in which namespaces take turns.

        The most important tasks come first. Among equal tasks, those of the namespace served longest ago come first,
        then the oldest.
        """
        tasks = cluster.tasks
        served = np.array([self.get_last_turn(each) for each in namespaces_of(cluster, rows)], dtype=np.int64)
        return rows[sort_by_age(tasks, rows, served, -tasks.priority[rows])].tolist()


def namespaces_of(cluster: Cluster, rows: Int64) -> Sequence[str]:
    """Return the namespace of each task (int64[N] rows), from its name ``namespace/name`` or else from its class.

    A class has no namespace if no rule depends on the namespace.
    """
    tasks, classes = cluster.tasks, cluster.classes.rows
    return [
        tasks.name[row].partition("/")[0] if "/" in tasks.name[row] else classes[cls].content.namespace
        for row, cls in zip(rows.tolist(), tasks.cls[rows].tolist(), strict=True)
    ]
