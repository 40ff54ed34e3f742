"""NodeResourceTopology objects as records, with the pods that an exporter has not counted yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from poseidon.custom_records import CustomResource, Reading
from poseidon.kube.api.collections import NODE_TOPOLOGIES, NODE_TOPOLOGIES_ALPHA1
from poseidon.numa.node_topology import RECORD_KIND, CountedPod, described

if TYPE_CHECKING:
    from poseidon.kube.api.node_topology import NodeResourceTopology
    from poseidon.lifecycle.phases import PodRecord
    from poseidon.pods.classes import ClassTable


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
        name = found.metadata.name
        payload, defects = described(found, lambda: self._pods(name))
        return Reading(name, payload, defects)

    def _pods(self, node: str) -> list[CountedPod]:
        return [
            CountedPod(each.task.uid, each.task.name, self._classes.message(each.task.task_class))
            for each in self._on_node(node)
        ]
