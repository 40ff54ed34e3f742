"""The ConfigMaps that describe groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from poseidon.group_trees.spec.described_maps import DescribedMap, DescribedMaps
from poseidon.group_trees.spec.groups import GROUP_KEYS, GroupSpec, name_of, read_group
from poseidon.kube.api.collections import GROUP_MAP_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from poseidon.kube.api.app_network import ConfigMap


class GroupName(NamedTuple):
    """What groups are told apart by: the name is that in the data, not the ConfigMap's own."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class GroupMaps:
    """ConfigMaps of groups as they are now."""

    def __init__(self) -> None:
        self._maps: DescribedMaps[GroupName, GroupSpec] = DescribedMaps(GROUP_KEYS, read_group, group_name)

    def __iter__(self) -> Iterator[GroupName]:
        return iter(self._maps)

    def put(self, found: ConfigMap) -> set[GroupName]:
        """Take a ConfigMap as it is now; returns the groups that may be described anew."""
        if GROUP_MAP_LABEL not in found.metadata.labels:
            return self._maps.remove(found.metadata.uid)
        return self._maps.put(found)

    def remove(self, uid: str) -> set[GroupName]:
        """Forget a ConfigMap; returns the groups that may be described anew."""
        return self._maps.remove(uid)

    def get(self, name: GroupName) -> DescribedMap[GroupSpec] | None:
        """Return the ConfigMap that counts for a group, None if there is none."""
        return self._maps.counting(name)

    def ignored(self, name: GroupName) -> list[tuple[DescribedMap[GroupSpec], str]]:
        """Return the other ConfigMaps that describe a group, each with what is to be said of it."""
        counting = self._maps.counting(name)
        if counting is None:
            return []
        text = (
            f"ConfigMap {counting.found.metadata.name} describes group {name} already, and this one is ignored; "
            "delete one of them"
        )
        return [(each, text) for each in self._maps.ignored(name)]


def group_name(found: ConfigMap) -> GroupName:
    """Return the group that a ConfigMap describes."""
    return GroupName(found.metadata.namespace or "default", name_of(found.data))


def remarks_on(spec: GroupSpec, levels: tuple[str, ...]) -> list[str]:
    """Return a line for each rule that stands for a level that the tree does not have."""
    known = ", ".join(levels)
    return [
        f"data.constraints.{level}: the tree has no such level, and the rule is ignored; levels are {known}"
        for level in spec.constraints
        if level not in levels
    ]
