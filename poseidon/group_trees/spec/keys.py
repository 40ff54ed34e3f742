"""Names that pods, objects and records of topology groups go by."""

from __future__ import annotations

GROUP_LABEL = "sakkara.group.name"
"""Label of a pod: the name of its group, in the pod's namespace."""

RACK_LABEL = "sakkara.topology.rack"
"""Label of a node: its rack. If every node has it, racks and nodes are the tree where nothing else says."""

CONSTRAINTS_ANNOTATION = "sakkara.group.constraints"
"""Annotation of a PodGroup: rules by level, as in the key ``constraints`` of a group's ConfigMap."""

RANK_LABEL = "sakkara.member.rank"
STATUS_LABEL = "sakkara.member.status"
RETRIES_LABEL = "sakkara.member.retries"
"""Labels of pods that are written: rank in the group, state, how often the pod was released to be placed."""

LAST_GOOD = "topology.firmament.io/last-good"
"""Annotation, only on ConfigMaps that have faults: the data that is in force, for a bridge that starts later."""

TREE_RECORD = "TopologyTree"
"""Kind of the record of the tree in force: ``{"name", "levels", "resources", "tree"}``; its name is ``tree``."""

TREE_NAME = "tree"

GROUP_RECORD = "TopologyGroup"
"""Kind of the record of a group: ``{"group": "namespace/name", "constraints"}``; its name is the id of the job."""

TREE_RECORDS = frozenset({TREE_RECORD, GROUP_RECORD})

ROOT = "root"
"""What the top of every tree is called."""

NODE_LEVEL = "node"
RACK_LEVEL = "rack"
"""Names of the levels of trees that nobody has named."""
