"""Adds labels to machines that name their domain in each level of Kueue's Topologies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from poseidon.kube.api.other_projects.kueue_topology import KueueTopology, get_levels, iterate_faults
from poseidon.nodes.added_labels import AddedLabels


class TopologyLabels(AddedLabels):
    """The Topologies that are known, and the nodes in them."""

    def __init__(self) -> None:
        super().__init__()
        self._found: dict[str, KueueTopology] = {}

    def put(self, uid: str, found: KueueTopology) -> None:
        """Add or update a Topology."""
        known = self._found.get(uid)
        self._found[uid] = found
        if known is None or known.spec != found.spec:
            self._todo.update(self._nodes)

    def remove(self, uid: str) -> None:
        """Remove a Topology; an unknown Topology is ignored."""
        if self._found.pop(uid, None) is not None:
            self._todo.update(self._nodes)

    def take_labels(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yield, each once, the nodes whose labels by level have changed, with these labels."""
        if not self._found and not self._labels:
            return
        levels = [get_levels(each) for each in self._found.values() if not any(iterate_faults(each))]
        yield from self._take_changed(
            lambda _, labels: {key: value for each in levels for key, value in each.locate(labels).items()}
        )
