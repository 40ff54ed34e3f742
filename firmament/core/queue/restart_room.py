"""Finds the machines that are closed to tasks because host ports or devices are kept for a restarting gang."""

from __future__ import annotations

from firmament.core.state.cluster import Cluster


def list_kept_rows(cluster: Cluster, cls: int, priority: int, job: str) -> frozenset[int]:
    """Return the machines (rows) that are closed to tasks of class ``cls`` (row) with ``priority`` in ``job``."""
    return frozenset(
        cluster.restarts.find_closed(cluster.machines, cluster.classes.rows[cls].content, priority, job)
    )
