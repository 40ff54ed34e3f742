"""Keeps the objects that define groups of pods, and the positions of nodes in the cluster's tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from poseidon.group_trees.spec.groups import GroupMaps, GroupName
from poseidon.group_trees.spec.trees import ClusterTrees, TreeArguments
from poseidon.nodes.hyper_nodes import HyperNodes
from poseidon.pod_groups.group_objects import Sources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from poseidon.kube.api.nodes import Node
    from poseidon.kube.api.other_projects.app_network import AppGroup, ConfigMap, NetworkTopology
    from poseidon.kube.api.other_projects.hyper_nodes import HyperNode
    from poseidon.kube.api.resource import Change
    from poseidon.pod_groups.demands import Source

    T = TypeVar("T")


class GroupObjects:
    """The objects that define groups of pods.

    ``maps`` are the ConfigMaps of topology groups; ``app_groups`` and ``topologies`` are kept by uid.

    ``trees`` has the cluster's tree; ``sources`` says how many pods each group wants.
    """

    def __init__(self, arguments: TreeArguments | None = None) -> None:
        self.sources = Sources()
        self.trees = ClusterTrees(arguments or TreeArguments())
        self.maps = GroupMaps()
        self.app_groups: dict[str, AppGroup] = {}
        self.topologies: dict[str, NetworkTopology] = {}
        self._node_names: dict[str, str] = {}
        self._hyper_nodes = HyperNodes()
        self._tiers: dict[str, Mapping[str, str]] = {}

    def groups_changed(self, kind: str, changes: Sequence[Change[Source]]) -> None:
        """Update the PodGroups or Workloads that have changed."""
        for uid, found in changes:
            if found is None:
                self.sources.remove(uid)
            else:
                self.sources.put(kind, uid, found)

    def group_config_maps_changed(self, changes: Sequence[Change[ConfigMap]]) -> None:
        """Update the ConfigMaps of groups that have changed."""
        for uid, found in changes:
            for name in self.maps.remove(uid) if found is None else self.maps.put(found):
                self._describe(name)

    def tree_maps_changed(self, changes: Sequence[Change[ConfigMap]]) -> None:
        """Update the ConfigMaps of the tree that have changed."""
        for uid, found in changes:
            if found is None:
                self.trees.remove(uid)
            else:
                self.trees.put(found)

    def _describe(self, name: GroupName) -> None:
        self.sources.put_described(name.namespace, name.name, self.maps.get(name))

    def app_groups_changed(self, changes: Sequence[Change[AppGroup]]) -> None:
        """Update the AppGroups that have changed."""
        _put(self.app_groups, changes)

    def topologies_changed(self, changes: Sequence[Change[NetworkTopology]]) -> None:
        """Update the NetworkTopologies that have changed."""
        _put(self.topologies, changes)

    def nodes_changed(self, changes: Sequence[Change[Node]]) -> None:
        """Update the nodes that have changed, because their labels may define the tree."""
        for uid, node in changes:
            if node is not None:
                self._node_names[uid] = node.metadata.name
                self.trees.node_changed(node.metadata.name, node.metadata.labels)
                self._hyper_nodes.note_node(node.metadata.name, node.metadata.labels)
            elif uid in self._node_names:
                name = self._node_names.pop(uid)
                self.trees.node_gone(name)
                self._hyper_nodes.forget_node(name)
                self._tiers.pop(name, None)

    def hyper_nodes_changed(self, changes: Sequence[Change[HyperNode]]) -> None:
        """Update Volcano's HyperNodes that have changed."""
        for uid, found in changes:
            if found is None:
                self._hyper_nodes.remove(uid)
            else:
                self._hyper_nodes.put(uid, found)
        self.sources.tiers = self._hyper_nodes.tiers

    def find_tiers(self, node: str) -> Mapping[str, str]:
        """Return the labels that HyperNodes give a node, one for each tier."""
        self._tiers.update(self._hyper_nodes.take_labels())
        return self._tiers.get(node, {})


def _put(known: dict[str, T], changes: Sequence[Change[T]]) -> None:  # type: ignore[type-var]  # kinds of objects
    for uid, found in changes:
        if found is None:
            known.pop(uid, None)
        else:
            known[uid] = found
