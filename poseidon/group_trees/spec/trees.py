"""The cluster's tree: the ConfigMaps and node labels that give it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from poseidon.group_trees.spec.cluster_tree import ClusterTree, tree_in_force
from poseidon.group_trees.spec.described_maps import DescribedMap, DescribedMaps
from poseidon.group_trees.spec.keys import RACK_LABEL
from poseidon.group_trees.spec.tree import TREE_KEYS, TreeSpec, read_tree
from poseidon.kube.api.collections import TREE_MAP_LABEL

if TYPE_CHECKING:
    from poseidon.group_trees.spec.options import TreeArguments
    from poseidon.kube.api.app_network import ConfigMap

_TREE: Final = "tree"
"""There is one tree, whatever the ConfigMaps call theirs."""


class Trees:
    """Takes nodes and ConfigMaps as they are now, and says which tree is in force."""

    def __init__(self, arguments: TreeArguments) -> None:
        self._arguments = arguments
        self._keys = frozenset((RACK_LABEL, *arguments.node_labels))
        self._maps: DescribedMaps[str, TreeSpec] = DescribedMaps(TREE_KEYS, read_tree, lambda _: _TREE)
        self._labels: dict[str, dict[str, str]] = {}
        self._tree: ClusterTree | None = None

    def put(self, found: ConfigMap) -> bool:
        """Take a ConfigMap as it is now; one that does not describe this cluster's tree is none of ours.

        Returns whether something may have changed.
        """
        metadata = found.metadata
        ours = TREE_MAP_LABEL in metadata.labels and (metadata.namespace or "default") == self.namespace
        return self._mark(self._maps.put(found) if ours else self._maps.remove(metadata.uid))

    def remove(self, uid: str) -> bool:
        """Forget a ConfigMap; returns whether something may have changed."""
        return self._mark(self._maps.remove(uid))

    @property
    def namespace(self) -> str:
        """Where the tree's ConfigMap is looked for."""
        return self._arguments.namespace

    def node_changed(self, name: str, labels: Mapping[str, str]) -> None:
        """Take a node as it is now."""
        own = {key: labels[key] for key in self._keys if key in labels}
        if self._labels.get(name) != own:
            self._labels[name] = own
            self._tree = None

    def node_gone(self, name: str) -> None:
        """A node exists no longer."""
        if self._labels.pop(name, None) is not None:
            self._tree = None

    @property
    def described(self) -> DescribedMap[TreeSpec] | None:
        """The ConfigMap that counts, None if there is none."""
        return self._maps.counting(_TREE)

    @property
    def spec(self) -> TreeSpec | None:
        """What the ConfigMap says that counts, or said last without faults."""
        described = self.described
        return described.spec if described is not None else None

    def tree(self) -> ClusterTree:
        """Return the tree that is in force."""
        if self._tree is None:
            self._tree = tree_in_force(self.spec, self._labels, self._arguments.node_labels)
        return self._tree

    def problems(self) -> list[tuple[DescribedMap[TreeSpec], str]]:
        """Return what is to be said of each ConfigMap, "" for nothing."""
        described = self.described
        if described is None:
            return []
        found = [(described, described.problem or "; ".join(described.reading.remarks))]
        name = described.found.metadata.name
        text = f"ConfigMap {name} describes the tree already, and this one is ignored; delete one of them"
        return [*found, *((each, text) for each in self._maps.ignored(_TREE))]

    def _mark(self, touched: set[str]) -> bool:
        if touched:
            self._tree = None
        return bool(touched)
