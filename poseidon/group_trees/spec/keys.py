"""Names of labels, annotations, records and levels for topology groups."""

from __future__ import annotations

GROUP_LABEL = "sakkara.group.name"
"""Label of a pod: the name of its group, in the pod's namespace."""

RACK_LABEL = "sakkara.topology.rack"
"""Label of a node: its rack. If every node has it and nothing else defines the tree, racks and nodes are the tree."""

CONSTRAINTS_ANNOTATION = "sakkara.group.constraints"
"""Annotation of a PodGroup: rules by level, as in the key ``constraints`` of a group's ConfigMap."""

RANK_LABEL = "sakkara.member.rank"
STATUS_LABEL = "sakkara.member.status"
RETRIES_LABEL = "sakkara.member.retries"
"""Labels that are written on pods: rank in the group, state, number of attempts to place the pod."""

LAST_GOOD = "topology.firmament.io/last-good"
"""Annotation, only on ConfigMaps with defects: the last good data, which stays in force when the bridge restarts."""

TREE_RECORD = "TopologyTree"
"""Kind of the record of the tree in force: ``{"name", "levels", "resources", "tree"}``; its name is ``tree``."""

TREE_NAME = "tree"

GROUP_RECORD = "TopologyGroup"
"""Kind of the record of a group: ``{"group": "namespace/name", "constraints"}``; its name is the id of the job."""

TREE_RECORDS = frozenset({TREE_RECORD, GROUP_RECORD})

ROOT = "root"
"""Name of the root of every tree."""

NODE_LEVEL = "node"
RACK_LEVEL = "rack"
"""Names of levels of a tree that no ConfigMap or configuration names."""
