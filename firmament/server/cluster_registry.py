"""Keeps all clusters that the server knows, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from firmament.server.cluster import ServedCluster

IDLE_CLUSTERS = 16
"""How many clusters without a session are kept for questions.

If more clusters have no session, those unused for longest are dropped.
"""


class UnknownClusterError(LookupError):
    """No client (such as a bridge) has opened a session for a cluster of that name, or it has been forgotten."""


class ClusterInUseError(Exception):
    """A cluster with open sessions cannot be forgotten; the text of the error says so."""


class TooManyClustersError(Exception):
    """The limit of clusters with sessions is reached; the text says what to do."""


class ClusterRegistry:
    """Clusters by name, created on first use.

    ``most``: limit of clusters with sessions. ``idle_limit``: limit of clusters without. ``new_cluster`` creates a
    cluster from its name. Only the event loop's thread may use the registry.
    """

    def __init__(
        self,
        new_cluster: Callable[[str], ServedCluster],
        idle_limit: int = IDLE_CLUSTERS,
        most: int = 1000,
    ) -> None:
        self._new_cluster = new_cluster
        self._idle_limit = idle_limit
        self._most = most
        self._clusters: dict[str, ServedCluster] = {}
        self._sessions: Counter[str] = Counter()

    def open(self, name: str) -> ServedCluster:
        """Return the cluster for a new session, created if necessary, and mark it as the last used.

        The cluster is kept until the session calls ``close``, even if the session has not become its driver yet.
        Raise ``TooManyClustersError`` if the limit is reached.
        """
        if name not in self._sessions and len(self._sessions) >= self._most:
            raise TooManyClustersError(
                f"{len(self._sessions)} clusters have sessions, as many as limits.clusters allows; raise it in the "
                "solver's configuration"
            )
        cluster = self._clusters.pop(name, None) or self._new_cluster(name)
        self._clusters[name] = cluster
        self._sessions[name] += 1
        idle = [each for each in self._clusters if not self._sessions[each]]
        for surplus in idle[: max(0, len(idle) - self._idle_limit)]:
            del self._clusters[surplus]
        return cluster

    def close(self, cluster: ServedCluster, *, forget: bool = False) -> None:
        """End a session of ``cluster``; ``forget``: drop the cluster if that was its last session."""
        self._sessions[cluster.name] -= 1
        if not self._sessions[cluster.name]:
            del self._sessions[cluster.name]
            if forget:
                del self._clusters[cluster.name]

    def get(self, name: str) -> ServedCluster:
        """Return a known cluster; raise ``UnknownClusterError`` for unknown names."""
        cluster = self._clusters.get(name)
        if cluster is None:
            known = ", ".join(sorted(self._clusters)) or "none"
            raise UnknownClusterError(f"cluster {name!r} is not known; known: {known}")
        return cluster

    def names(self) -> list[str]:
        """Return the names of all clusters, sorted."""
        return sorted(self._clusters)

    def live(self) -> list[str]:
        """Return the names of the clusters that have a session, sorted."""
        return sorted(self._sessions)

    def delete(self, name: str) -> None:
        """Forget a cluster that has no session; raise ``UnknownClusterError`` or ``ClusterInUseError``."""
        self.get(name)
        if name in self._sessions:
            raise ClusterInUseError(f"cluster {name!r} is in use: its driver is connected; end that first")
        del self._clusters[name]
