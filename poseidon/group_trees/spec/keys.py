"""Names the labels, annotations, records and levels of topology groups."""

from __future__ import annotations

GROUP_LABEL = "sakkara.group.name"
"""Label of a pod: the name of its topology group, in the pod's namespace."""

RACK_LABEL = "sakkara.topology.rack"
"""Label of a node: its rack.

If every node has this label and nothing else defines the tree, its levels are racks and nodes.
"""

CONSTRAINTS_ANNOTATION = "sakkara.group.constraints"
"""Annotation of a PodGroup: rules by level, as in the key ``constraints`` of a group's ConfigMap."""

RANK_LABEL = "sakkara.member.rank"
STATUS_LABEL = "sakkara.member.status"
RETRIES_LABEL = "sakkara.member.retries"
"""Labels that the bridge writes on pods: rank in the group, state, number of attempts to place the pod."""

LAST_GOOD = "topology.firmament.io/last-good"
"""Annotation of a ConfigMap with defects: its last faultless data, which stays in force after a restart."""

TREE_RECORD = "TopologyTree"
"""Kind of the record of the tree in force: ``{"name", "levels", "resources", "tree"}``; its name is ``tree``."""

TREE_NAME = "tree"

GROUP_RECORD = "TopologyGroup"
"""Kind of a group's record: ``{"group": "namespace/name", "constraints"}``; the record's name is the id of the job."""

TREE_RECORDS = frozenset({TREE_RECORD, GROUP_RECORD})

ROOT = "root"
"""Name of the root of every tree."""

NODE_LEVEL = "node"
RACK_LEVEL = "rack"
"""Default names of the levels of a tree."""
