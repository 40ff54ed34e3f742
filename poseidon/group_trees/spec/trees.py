"""Which tree a cluster has: of a ConfigMap, of node labels, or none; and what the configuration says about it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import ConfigDict, Field, StrictStr

from poseidon.group_trees.spec.described_maps import DescribedMap, DescribedMaps
from poseidon.group_trees.spec.keys import NODE_LEVEL, RACK_LABEL, RACK_LEVEL, TREE_RECORDS
from poseidon.group_trees.spec.tree import TREE_KEYS, Path, TreeSpec, read_tree
from poseidon.kube.api.app_network import ConfigMap
from poseidon.kube.api.collections import TREE_MAP_LABEL
from protos.conventions.configuration import Section

_TREE: Final = "the tree"
"""There is one tree, whatever the ConfigMaps call theirs."""


class TreeArguments(Section):
    """The arguments of the overlay ``topology`` that the bridge uses.

    ``namespace``: where the tree's ConfigMap is. ``node_labels``: keys of node labels, from top to bottom,
    that define the tree if no ConfigMap does.
    """

    model_config = ConfigDict(extra="ignore")
    namespace: Annotated[StrictStr, Field(alias="topologyConfigMapNameSpace")] = "default"
    node_labels: tuple[StrictStr, ...] = ()


def trees_are_read(records: Collection[str]) -> bool:
    """Return whether the tree and its groups are among these kinds of records."""
    return not TREE_RECORDS.isdisjoint(records)


@dataclass(frozen=True, slots=True)
class ClusterTree:
    """``levels`` top to bottom, the last one of nodes. ``paths`` by node; others are not in the tree."""

    levels: tuple[str, ...]
    paths: Mapping[str, Path]

    def path(self, node: str) -> Path:
        """Return where a node is; one that is not in the tree stands below units without a name."""
        return self.paths.get(node) or (*("" for _ in self.levels[1:]), node)


def tree_in_force(
    described: TreeSpec | None, labels: Mapping[str, Mapping[str, str]], keys: Sequence[str]
) -> ClusterTree:
    """Return the tree of a cluster whose nodes have these ``labels``.

    The tree that is ``described`` comes first, then the labels with these ``keys`` (nodes without one are not
    in the tree), then the label of racks if every node has it. Solvers find the same tree. Otherwise the
    nodes themselves are the tree.
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
    """Return names of levels that labels give: what follows a key's last slash, or all of it where that is no name."""
    short = [key.rsplit("/", 1)[-1] for key in keys]
    taken = [*short, NODE_LEVEL]
    return tuple(name if taken.count(name) == 1 else key for name, key in zip(short, keys, strict=True))


class Trees:
    """Takes nodes and ConfigMaps as they are now, and says which tree is in force."""

    def __init__(self, arguments: TreeArguments) -> None:
        self._arguments = arguments
        self._keys = frozenset((RACK_LABEL, *arguments.node_labels))
        self._maps: DescribedMaps[str, TreeSpec] = DescribedMaps(TREE_KEYS, read_tree, self._subject, str)
        self._labels: dict[str, dict[str, str]] = {}
        self._tree: ClusterTree | None = None

    def put(self, found: ConfigMap) -> bool:
        """Take a ConfigMap as it is now; returns whether something may have changed."""
        return self._mark(self._maps.put(found))

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
        """Forget a node that does not exist any more."""
        if self._labels.pop(name, None) is not None:
            self._tree = None

    @property
    def described(self) -> DescribedMap[TreeSpec] | None:
        """The ConfigMap that counts, None if there is none."""
        return self._maps.get(_TREE)

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
        """Return what to report about each ConfigMap, "" for nothing."""
        described = self.described
        if described is None:
            return []
        found = [(described, described.problem or "; ".join(described.reading.remarks))]
        return [*found, *self._maps.list_ignored(_TREE)]

    def _subject(self, found: ConfigMap) -> str | None:
        """Return what does not describe this cluster's tree is none of ours."""
        metadata = found.metadata
        ours = TREE_MAP_LABEL in metadata.labels and (metadata.namespace or "default") == self.namespace
        return _TREE if ours else None

    def _mark(self, touched: set[str]) -> bool:
        if touched:
            self._tree = None
        return bool(touched)
