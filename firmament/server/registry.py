"""All clusters that the server knows, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from firmament.server.cluster import Cluster, Recorder

if TYPE_CHECKING:
    from firmament.core.scheduler import Scheduler

IDLE_CLUSTERS = 16
"""Clusters without a session whose state is kept for questions; of more, the longest unused are forgotten."""


class UnknownClusterError(LookupError):
    """No driver has ever opened a session for a cluster of that name, or it was forgotten long after."""


class ClusterRegistry:
    """Creates clusters on first use and bounds the number of idle ones. For the event loop's thread only."""

    def __init__(
        self,
        new_scheduler: Callable[[], Scheduler],
        idle_limit: int = IDLE_CLUSTERS,
        recorder: Recorder | None = None,
    ) -> None:
        self._new_scheduler = new_scheduler
        self._recorder = recorder
        self._idle_limit = idle_limit
        self._clusters: dict[str, Cluster] = {}
        self._sessions: Counter[str] = Counter()

    def open(self, name: str) -> Cluster:
        """Return the cluster for a session; it is created if need be, and counts as used last.

        It is not forgotten before the session has said ``close``, also while that waits to become its driver.
        """
        cluster = self._clusters.pop(name, None) or Cluster(name, self._new_scheduler, self._recorder)
        self._clusters[name] = cluster
        self._sessions[name] += 1
        idle = [each for each in self._clusters if not self._sessions[each]]
        for surplus in idle[: max(0, len(idle) - self._idle_limit)]:
            del self._clusters[surplus]
        return cluster

    def close(self, cluster: Cluster) -> None:
        """Take note that a session of ``cluster`` has ended."""
        self._sessions[cluster.name] -= 1
        if not self._sessions[cluster.name]:
            del self._sessions[cluster.name]

    def get(self, name: str) -> Cluster:
        """Return a known cluster; raises ``UnknownClusterError``."""
        cluster = self._clusters.get(name)
        if cluster is None:
            known = ", ".join(sorted(self._clusters)) or "none"
            raise UnknownClusterError(f"cluster {name!r} is not known; known: {known}")
        return cluster

    def names(self) -> list[str]:
        """Names of all clusters, sorted."""
        return sorted(self._clusters)
