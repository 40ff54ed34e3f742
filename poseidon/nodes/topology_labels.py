"""Topologies of Kueue as labels of machines: in which domain of each level a node is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from poseidon.kube.api.other_projects.kueue_topology import KueueTopology, get_levels, iterate_faults


class TopologyLabels:
    """The Topologies that are known, and the nodes in them."""

    def __init__(self) -> None:
        self._found: dict[str, KueueTopology] = {}
        self._nodes: dict[str, Mapping[str, str]] = {}
        self._labels: dict[str, dict[str, str]] = {}
        self._todo: set[str] = set()

    def put(self, uid: str, found: KueueTopology) -> None:
        """Take a Topology as it is now."""
        known = self._found.get(uid)
        self._found[uid] = found
        if known is None or known.spec != found.spec:
            self._todo.update(self._nodes)

    def remove(self, uid: str) -> None:
        """Forget a Topology; an unknown one is ignored."""
        if self._found.pop(uid, None) is not None:
            self._todo.update(self._nodes)

    def note_node(self, name: str, labels: Mapping[str, str]) -> None:
        """Take a node as it is now."""
        if self._nodes.get(name) != labels:
            self._nodes[name] = labels
            self._todo.add(name)

    def forget(self, name: str) -> None:
        """Forget a node; an unknown one is ignored."""
        self._nodes.pop(name, None)
        self._labels.pop(name, None)
        self._todo.discard(name)

    def take_labels(self) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yield nodes whose labels by level have changed, with these, once."""
        todo, self._todo = self._todo, set()
        if not self._found and not self._labels:
            return
        levels = [get_levels(each) for each in self._found.values() if not any(iterate_faults(each))]
        for name in sorted(todo):
            labels: dict[str, str] = {}
            for each in levels:
                labels.update(each.locate(self._nodes[name]))
            if labels != self._labels.get(name, {}):
                self._labels[name] = labels
                yield name, labels
