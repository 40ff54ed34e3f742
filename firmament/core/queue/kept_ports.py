"""Finds the machines that are closed to tasks because ports or devices are kept there for a gang that restarts."""

from __future__ import annotations

from firmament.core.state.cluster import Cluster


def list_kept_rows(cluster: Cluster, cls: int, priority: int, job: str) -> set[int]:
    """Return the machines (rows) that are closed to tasks of class ``cls`` (row) with ``priority`` in ``job``."""
    row_of, content = cluster.machines.row_of, cluster.classes.rows[cls].content
    found = cluster.restarts.iter_closed(content, priority, job)
    return {row_of[room.machine] for room in found if room.machine in row_of}
