"""NodeResourceTopology objects as records, with the tasks that an exporter has not counted yet.

An exporter may state the fingerprint of the pods that its figures count. Compared with those that the bridge knows to
be on the node, or binds to it, it tells which of the latest are missing; without it, times have to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from poseidon.bridge.custom_records import CustomResource, Reading
from poseidon.bridge.feeds import NODE_TOPOLOGIES, NODE_TOPOLOGIES_ALPHA1
from poseidon.translate.fingerprints import of_hashes, pod_hash
from poseidon.translate.node_topology import RECORD_KIND, devices_of, has_exclusive, payload, topology_record

if TYPE_CHECKING:
    from poseidon.bridge.records import PodRecord
    from poseidon.kube.node_topology import NodeResourceTopology
    from poseidon.translate.classes import ClassTable

MODEL = "numa_fit"
"""The overlay that reads these records."""

EXCLUSIVE = "with-exclusive-resources"

LATEST = 8
"""So many of the latest pods of a node may be missing from a fingerprint for it to be recognised."""


class NodeTopologies:
    """Reads objects; ``on_node`` returns a node's pods in the order in which they came to it."""

    def __init__(self, on_node: Callable[[str], Sequence[PodRecord]], classes: ClassTable) -> None:
        self._on_node = on_node
        self._classes = classes

    def custom_resource(self) -> CustomResource[NodeResourceTopology]:
        """Return how the objects are followed."""
        return CustomResource(RECORD_KIND, (NODE_TOPOLOGIES, NODE_TOPOLOGIES_ALPHA1), self.read)

    def read(self, found: NodeResourceTopology) -> Reading:
        """Return the record of an object."""
        record, defects = topology_record(found)
        stated, method = record.pop("fingerprint", ""), record.pop("fingerprintMethod", "")
        if stated:
            missing = self._missing(found, stated, exclusive_only=method == EXCLUSIVE)
            if missing is not None:
                record["missing"] = missing
        return Reading(found.metadata.name, payload(record), defects)

    def _missing(self, found: NodeResourceTopology, stated: str, *, exclusive_only: bool) -> list[str] | None:
        """Return the uids of the latest pods without which the fingerprint is the stated one, None if that is never."""
        pods = self._on_node(found.metadata.name)
        if exclusive_only:
            devices = devices_of(found)
            pods = [
                each for each in pods if has_exclusive(self._classes.message(each.task.task_class), devices)
            ]
        hashes = [pod_hash(each.ref.namespace, each.ref.name) for each in pods]
        for missing in range(min(LATEST, len(pods)) + 1):
            counted = len(pods) - missing
            if of_hashes(hashes[:counted]) == stated:
                return [each.task.uid for each in pods[counted:]]
        return None
