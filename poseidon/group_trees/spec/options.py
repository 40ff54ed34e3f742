"""What the configuration says about the cluster's tree."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from pydantic import ConfigDict, Field, StrictStr

from poseidon.group_trees.spec.keys import TREE_RECORDS
from protos.conventions.configuration import Section


class TreeArguments(Section):
    """The arguments of the overlay ``topology`` that the bridge heeds.

    ``namespace``: where the tree's ConfigMap is. ``node_labels``: keys of node labels, top to bottom, that give the
    tree where no ConfigMap does.
    """

    model_config = ConfigDict(extra="ignore")
    namespace: Annotated[StrictStr, Field(alias="topologyConfigMapNameSpace")] = "default"
    node_labels: tuple[StrictStr, ...] = ()


def trees_are_read(records: Collection[str]) -> bool:
    """Whether the tree and its groups are among these kinds of records."""
    return not TREE_RECORDS.isdisjoint(records)
