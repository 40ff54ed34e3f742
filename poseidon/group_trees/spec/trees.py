"""Finds the tree of a cluster's nodes: by a ConfigMap, by node labels, or with nodes as the only level."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import ConfigDict, Field, StrictStr

from poseidon.group_trees.spec.described_maps import DescribedMap, DescribedMaps
from poseidon.group_trees.spec.keys import NODE_LEVEL, RACK_LABEL, RACK_LEVEL, TREE_RECORDS
from poseidon.group_trees.spec.tree import TREE_KEYS, Path, TreeSpec, read_tree
from poseidon.kube.api.collections import TREE_MAP_LABEL
from poseidon.kube.api.other_projects.app_network import ConfigMap
from protos.configuration.sections import Section

_TREE: Final = "the tree"
"""The key of the tree among ConfigMaps: a cluster has only one tree, whatever name its ConfigMap gives it."""


class TreeArguments(Section):
    """The arguments of the overlay ``topology`` that the bridge uses.

    ``namespace``: the namespace of the tree's ConfigMap. ``node_labels``: keys of node labels, from top to bottom,
    that define the tree if no ConfigMap does.
    """

    model_config = ConfigDict(extra="ignore")
    namespace: Annotated[StrictStr, Field(alias="topologyConfigMapNameSpace")] = "default"
    node_labels: tuple[StrictStr, ...] = ()


def models_need_trees(records: Collection[str]) -> bool:
    """Return whether ``records``, the kinds that models read, include those of the tree or of topology groups."""
    return not TREE_RECORDS.isdisjoint(records)


@dataclass(frozen=True, slots=True)
class ClusterTree:
    """The tree in force.

    ``levels``: names from top to bottom, the last for nodes; ``paths``: the paths of nodes, by node.
    """

    levels: tuple[str, ...]
    paths: Mapping[str, Path]

    def path(self, node: str) -> Path:
        """Return the path of a node; for a node that is not in the tree, a path of units named ""."""
        return self.paths.get(node) or (*("" for _ in self.levels[1:]), node)


def tree_in_force(
    described: TreeSpec | None, labels: Mapping[str, Mapping[str, str]], keys: Sequence[str]
) -> ClusterTree:
    """Return the tree of a cluster whose nodes have these ``labels``.

    The tree of a ConfigMap (``described``) takes precedence, then the labels with these ``keys`` (a node that lacks
    one of them is not in the tree), then the rack label if every node has it. Without any of these, nodes are the
    only level. The solver uses the same rules.
    """
    if described is not None:
        return ClusterTree(described.levels, described.paths)
    levels: tuple[str, ...] = (NODE_LEVEL,)
    if keys:
        levels = (*level_names(keys), NODE_LEVEL)
    elif labels and all(each.get(RACK_LABEL) for each in labels.values()):
        keys, levels = (RACK_LABEL,), (RACK_LEVEL, NODE_LEVEL)
    paths = {
        node: (*(own[key] for key in keys), node)
        for node, own in labels.items()
        if all(own.get(key) for key in keys)
    }
    return ClusterTree(levels, paths)


def level_names(keys: Sequence[str]) -> tuple[str, ...]:
    """Return names of levels for keys of labels: the part after the last slash if unique, else the whole key."""
    short = [key.rsplit("/", 1)[-1] for key in keys]
    taken = [*short, NODE_LEVEL]
    return tuple(name if taken.count(name) == 1 else key for name, key in zip(short, keys, strict=True))


class ClusterTrees:
    """The node labels and the ConfigMaps that describe the cluster's tree, and the tree that they define.

    A cluster has one tree, which ``tree`` returns.
    """

    def __init__(self, arguments: TreeArguments) -> None:
        self._arguments = arguments
        self._keys = frozenset((RACK_LABEL, *arguments.node_labels))
        self._maps: DescribedMaps[str, TreeSpec] = DescribedMaps(TREE_KEYS, read_tree, self._subject, str)
        self._labels: dict[str, dict[str, str]] = {}
        self._tree: ClusterTree | None = None

    def put(self, found: ConfigMap) -> bool:
        """Add or update a ConfigMap; return whether the tree may have changed."""
        return self._mark(self._maps.put(found))

    def remove(self, uid: str) -> bool:
        """Remove a ConfigMap; return whether the tree may have changed."""
        return self._mark(self._maps.remove(uid))

    @property
    def namespace(self) -> str:
        """The namespace of the tree's ConfigMap."""
        return self._arguments.namespace

    def node_changed(self, name: str, labels: Mapping[str, str]) -> None:
        """Add or update a node."""
        own = {key: labels[key] for key in self._keys if key in labels}
        if self._labels.get(name) != own:
            self._labels[name] = own
            self._tree = None

    def node_gone(self, name: str) -> None:
        """Remove a node that does not exist any more."""
        if self._labels.pop(name, None) is not None:
            self._tree = None

    @property
    def described(self) -> DescribedMap[TreeSpec] | None:
        """The ConfigMap that is used for the tree, None if no ConfigMap is."""
        return self._maps.get(_TREE)

    @property
    def spec(self) -> TreeSpec | None:
        """The last faultless content of the ConfigMap that is used for the tree, None for none."""
        described = self.described
        return described.spec if described is not None else None

    def tree(self) -> ClusterTree:
        """Return the cluster's present tree, see ``tree_in_force``."""
        if self._tree is None:
            self._tree = tree_in_force(self.spec, self._labels, self._arguments.node_labels)
        return self._tree

    def problems(self) -> list[tuple[DescribedMap[TreeSpec], str]]:
        """Return each ConfigMap with a message for people, "" for nothing to report."""
        described = self.described
        if described is None:
            return []
        found = [(described, described.problem or "; ".join(described.reading.remarks))]
        return [*found, *self._maps.list_ignored(_TREE)]

    def _subject(self, found: ConfigMap) -> str | None:
        """Return ``_TREE`` for a ConfigMap that describes this cluster's tree, else None."""
        metadata = found.metadata
        ours = TREE_MAP_LABEL in metadata.labels and (metadata.namespace or "default") == self.namespace
        return _TREE if ours else None

    def _mark(self, touched: set[str]) -> bool:
        if touched:
            self._tree = None
        return bool(touched)
