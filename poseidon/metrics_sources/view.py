"""What the sources have to know of a cluster to place what they read."""

from __future__ import annotations

from typing import Protocol


class ClusterView(Protocol):
    """Nodes and pods as the bridge knows them at the moment."""

    def knows_node(self, name: str) -> bool:
        """Whether there is a node of this name."""
        ...

    def node_of(self, namespace: str, name: str) -> str:
        """Return where a pod runs or is being bound to, "" for nowhere and for a pod that is not known."""
        ...

    def uid_of(self, namespace: str, name: str, node: str) -> str:
        """Return the uid of the pod of this name if it is on ``node``, else ""."""
        ...
