"""The tree and the topology groups that an input describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from poseidon.group_trees.spec.group_maps import GroupMaps, GroupName, group_name
from poseidon.group_trees.spec.trees import Trees
from poseidon.kube.api.app_network import ConfigMap
from poseidon.kube.api.collections import GROUP_MAP_LABEL
from poseidon.pods.tasks import qualified_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from poseidon.group_trees.spec.described_maps import DescribedMap
    from poseidon.group_trees.spec.options import TreeArguments
    from poseidon.kube.api.core import KubeStruct, Node


@dataclass(frozen=True, slots=True)
class DescribedTopology:
    """``is_read``: some model reads records of the tree and its groups.

    ``warnings`` are lines for people: what is wrong with ConfigMaps, or said in vain.
    """

    is_read: bool
    trees: Trees
    maps: GroupMaps
    names: tuple[GroupName, ...]
    warnings: tuple[str, ...]


def described_topology(
    objects: Iterable[KubeStruct], nodes: Iterable[Node], arguments: TreeArguments, *, is_read: bool
) -> DescribedTopology:
    """Read the ConfigMaps of an input, and the labels of its nodes. Unless ``is_read``, there is no tree."""
    trees, maps = Trees(arguments), GroupMaps()
    names: dict[GroupName, None] = {}
    for each in objects:
        if not isinstance(each, ConfigMap):
            continue
        found = replace(each, metadata=replace(each.metadata, uid=qualified_name(each.metadata)))
        if is_read:
            trees.put(found)
        maps.put(found)
        if GROUP_MAP_LABEL in found.metadata.labels:
            names[group_name(found)] = None
    for node in nodes:
        trees.node_changed(node.metadata.name, node.metadata.labels)
    said: list[tuple[DescribedMap[Any], str]] = [*trees.problems()]
    for name in names:
        described = maps.get(name)
        if described is not None:
            said.append((described, described.problem or "; ".join(described.reading.remarks)))
        said.extend(maps.ignored(name))
    warnings = (f"ConfigMap {qualified_name(each.found.metadata)}: {text}" for each, text in said if text)
    return DescribedTopology(is_read, trees, maps, tuple(names), tuple(warnings))
