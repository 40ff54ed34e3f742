"""Defines Kueue's Topologies: the node labels that say where a node is, from the coarsest to the finest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from poseidon.kube.api.metadata import KubeStruct, ObjectMeta
from poseidon.kube.parsing.label_syntax import key_fault

MOST_LEVELS = 16
"""Most levels of a Topology, as in Kueue's API."""


class TopologyLevel(KubeStruct, frozen=True):
    """A level of a Topology: the node label whose values are the level's domains."""

    node_label: str = ""


class KueueTopologySpec(KubeStruct, frozen=True):
    """Spec of a Topology: its levels, the coarsest first."""

    levels: tuple[TopologyLevel, ...] = ()


class KueueTopology(KubeStruct, frozen=True):
    """kueue.x-k8s.io Topology."""

    metadata: ObjectMeta = ObjectMeta()
    spec: KueueTopologySpec = KueueTopologySpec()


class TopologyLevels(NamedTuple):
    """The name of a Topology, and the labels of its levels, the coarsest first."""

    name: str
    labels: tuple[str, ...]

    @property
    def key(self) -> str:
        """The key of the label of machines that are in the topology; its value is the topology's name.

        Nodes do not have this label.
        """
        return f"Topology {self.name}"

    def name_level(self, label: str) -> str:
        """Return the key of the label that names a machine's domain of a level.

        The value is the path from the coarsest level to the domain, because racks of two blocks may have the same name.
        """
        return f"{label} of {self.key}"

    def locate(self, node: Mapping[str, str]) -> dict[str, str]:
        """Return the labels of a machine that follow from those of its ``node``; {} if it lacks a level's label."""
        if any(label not in node for label in self.labels):
            return {}
        values = [node[label] for label in self.labels]
        ways = ("/".join(values[:depth]) for depth in range(1, len(values) + 1))
        return {self.key: self.name, **dict(zip(map(self.name_level, self.labels), ways, strict=True))}


def get_levels(found: KueueTopology) -> TopologyLevels:
    """Return the levels of a Topology."""
    return TopologyLevels(found.metadata.name, tuple(each.node_label for each in found.spec.levels))


def iterate_faults(found: KueueTopology) -> Iterator[str]:
    """Yield what is wrong with the levels of a Topology, which Kueue's API would refuse."""
    labels = [each.node_label for each in found.spec.levels]
    if not 1 <= len(labels) <= MOST_LEVELS:
        yield f"spec.levels: has {len(labels)} entries; give 1 to {MOST_LEVELS}"
    for index, label in enumerate(labels):
        path = f"spec.levels[{index}].nodeLabel"
        if fault := key_fault(label):
            yield f"{path}: {fault}"
        elif label in labels[:index]:
            yield f"{path}: {label!r} is there twice; remove it"
