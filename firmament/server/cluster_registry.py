"""All clusters that the server knows, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from firmament.server.cluster import ServedCluster

IDLE_CLUSTERS = 16
"""Clusters without a session whose state is kept for questions; of more, the longest unused are forgotten."""


class UnknownClusterError(LookupError):
    """No driver has ever opened a session for a cluster of that name, or it was forgotten long after."""


class ClusterInUseError(Exception):
    """A cluster that sessions are open for cannot be forgotten; the text says so."""


class TooManyClustersError(Exception):
    """So many clusters have sessions that no further one is taken; the text says what to do."""


class ClusterRegistry:
    """Creates clusters on first use, and bounds how many have sessions (``most``) and how many are kept without one.

    ``new_cluster`` makes one of a name. For the event loop's thread only.
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
        """Return the cluster for a session; it is created if need be, and counts as used last.

        It is not forgotten before the session has said ``close``, also while that waits to become its driver.
        Raises ``TooManyClustersError``.
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
        """Take note that a session of ``cluster`` has ended; ``forget``: it is not worth keeping after its last one."""
        self._sessions[cluster.name] -= 1
        if not self._sessions[cluster.name]:
            del self._sessions[cluster.name]
            if forget:
                del self._clusters[cluster.name]

    def get(self, name: str) -> ServedCluster:
        """Return a known cluster; raises ``UnknownClusterError``."""
        cluster = self._clusters.get(name)
        if cluster is None:
            known = ", ".join(sorted(self._clusters)) or "none"
            raise UnknownClusterError(f"cluster {name!r} is not known; known: {known}")
        return cluster

    def names(self) -> list[str]:
        """Return names of all clusters, sorted."""
        return sorted(self._clusters)

    def live(self) -> list[str]:
        """Return names of the clusters that have a session, sorted."""
        return sorted(self._sessions)

    def delete(self, name: str) -> None:
        """Forget a cluster that has no session; raises ``UnknownClusterError`` or ``ClusterInUseError``."""
        self.get(name)
        if name in self._sessions:
            raise ClusterInUseError(f"cluster {name!r} is in use: its driver is connected; end that first")
        del self._clusters[name]
