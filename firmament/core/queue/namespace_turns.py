"""Lets namespaces take turns if only few tasks can be served: the namespace served last comes last."""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller

import numpy as np

from cost_models.interface import Int64
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
        return rows[tasks.sort_by_age(rows, served, -tasks.priority[rows])].tolist()


def namespaces_of(cluster: Cluster, rows: Int64) -> Sequence[str]:
    """Return the namespace of each task (int64[N] rows), from its name ``namespace/name`` or else from its class.

    A class has no namespace if no rule depends on the namespace.
    """
    tasks, classes = cluster.tasks, cluster.classes.rows
    return [
        tasks.name[row].partition("/")[0] if "/" in tasks.name[row] else classes[cls].content.namespace
        for row, cls in zip(rows.tolist(), tasks.cls[rows].tolist(), strict=True)
    ]


def is_one_namespace(cluster: Cluster, waiting: Int64) -> bool:
    """Return whether all ``waiting`` tasks are of one namespace; fast even if thousands of tasks wait."""
    tasks = cluster.tasks
    names = [tasks.name[row] for row in waiting.tolist()]
    prefix = names[0][: names[0].find("/") + 1]
    if prefix and all(map(methodcaller("startswith", prefix), names)):
        return True
    # If no task's name states a namespace, the namespaces of the tasks' classes are compared.
    if "/" not in "".join(names):
        waiting = waiting[np.unique(tasks.cls[waiting], return_index=True)[1]]
    elif all(map(methodcaller("count", "/"), names)):
        return False
    return len(number_namespaces(cluster, waiting)[0]) == 1


def number_namespaces(cluster: Cluster, waiting: Int64) -> tuple[list[str], Int64]:
    """Return the names of the namespaces of the ``waiting`` tasks, and int64[N]: the index of each task's namespace."""
    index: dict[str, int] = {}
    found = [index.setdefault(name, len(index)) for name in namespaces_of(cluster, waiting)]
    return list(index), np.array(found, dtype=np.int64)
