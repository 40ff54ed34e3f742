"""What the configuration says about topology groups."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Self

from poseidon.group_trees.spec.keys import TREE_RECORDS

DEFAULT_NAMESPACE = "default"
"""Where the ConfigMap with the tree is, unless told otherwise."""


@dataclass(frozen=True, slots=True)
class TopologyOptions:
    """``overlay``: some model reads records of the tree and its groups. ``namespace``: where the tree's ConfigMap is.

    ``node_labels``: keys of node labels, top to bottom, that give the tree where no ConfigMap does.
    """

    overlay: bool = False
    namespace: str = DEFAULT_NAMESPACE
    node_labels: tuple[str, ...] = ()

    def with_records(self, needed: Collection[str]) -> Self:
        """Return the same where these kinds of records are needed."""
        return replace(self, overlay=not TREE_RECORDS.isdisjoint(needed))
