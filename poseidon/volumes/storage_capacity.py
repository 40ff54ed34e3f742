"""What drivers say they can make, and which machines reach it: CSIStorageCapacity objects.

As kube-scheduler's VolumeBinding reads them (`capacitySufficient`, `nodeHasAccess`): an object counts for the machines
that its ``nodeTopology`` selects; ``maximumVolumeSize`` limits a single volume, or without it ``capacity``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from poseidon.kube.parsing.quantities import QuantityError, amount
from poseidon.volumes.matching import holds
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from poseidon.kube.api.core import LabelSelector
    from poseidon.kube.api.storage import CsiStorageCapacity
    from poseidon.volumes.records import Condition

LARGEST = 2**53
"""Bytes that are told at most; more makes no difference to any claim."""


@dataclass(eq=False, slots=True)
class _Part:
    """Machines that one object speaks of. ``key``: a label that all of them have with one value; "": none is known."""

    storage_class: str
    largest: int
    capacity: int
    conditions: tuple[Condition, ...]
    key: str
    value: str
    nodes: set[str] = field(default_factory=set)


class StorageCapacities:
    """Capacities by the machines that reach them. ``scored``: how much of them is used makes a difference.

    Drivers of local storage have one object per machine: what one of those changes costs nothing on the others.
    """

    def __init__(self, *, scored: bool) -> None:
        self._scored = scored
        self._nodes: dict[str, Mapping[str, str]] = {}
        self._parts: dict[str, _Part] = {}
        self._by_label: dict[tuple[str, str], dict[_Part, None]] = {}
        self._labelled: dict[str, dict[str, set[str]]] = {}
        self._at: dict[str, dict[_Part, None]] = {}

    def put(self, uid: str, found: CsiStorageCapacity | None) -> set[str]:
        """Take an object, or its absence. Returns the machines that it makes a difference to."""
        former = self._parts.pop(uid, None)
        changed = self._remove(former) if former is not None else set()
        part = self._part(found) if found is not None else None
        if part is None:
            return changed
        self._parts[uid] = part
        self._by_label.setdefault((part.key, part.value), {})[part] = None
        for name in self._candidates(part):
            self._let_reach(part, name)
        same = former is not None and (former.storage_class, former.largest, former.capacity) == (
            part.storage_class,
            part.largest,
            part.capacity,
        )
        return changed ^ part.nodes if same else changed | part.nodes

    def put_node(self, name: str, labels: Mapping[str, str]) -> bool:
        """Take a machine as it is now. Returns whether it reaches other capacities than before."""
        if self._nodes.get(name) == labels:
            return False
        before = set(self._at.get(name, ()))
        self.remove_node(name)
        self._nodes[name] = labels
        for key, by_value in self._labelled.items():
            by_value.setdefault(labels.get(key, ""), set()).add(name)
        for pair in (("", ""), *labels.items()):
            for part in self._by_label.get(pair, ()):
                self._let_reach(part, name)
        return before != set(self._at.get(name, ()))

    def remove_node(self, name: str) -> None:
        """A machine is gone."""
        labels = self._nodes.pop(name, None)
        if labels is None:
            return
        for key, by_value in self._labelled.items():
            by_value.get(labels.get(key, ""), set()).discard(name)
        for part in self._at.pop(name, ()):
            part.nodes.discard(name)

    def rooms(self, node: str) -> tuple[pb.StorageRoom, ...]:
        """Return what a machine reaches, by storage class: the best of what several objects say."""
        largest: dict[str, int] = {}
        capacity: dict[str, int] = {}
        for part in self._at.get(node, ()):
            name = part.storage_class
            largest[name] = max(largest.get(name, 0), part.largest)
            capacity[name] = max(capacity.get(name, 0), part.capacity)
        return tuple(
            pb.StorageRoom(
                storage_class=name, largest=largest[name], capacity=capacity[name] if self._scored else 0
            )
            for name in sorted(largest)
        )

    # --- inside --------------------------------------------------------------------------------------------

    def _part(self, found: CsiStorageCapacity) -> _Part | None:
        if found.node_topology is None or not found.storage_class_name:
            return None
        capacity, largest = _bytes(found.capacity), _bytes(found.maximum_volume_size)
        limit = largest if largest is not None else capacity
        if limit is None:
            return None  # nothing is known, which counts as no room
        key, value = min(found.node_topology.match_labels.items(), default=("", ""), key=self._spread)
        return _Part(
            found.storage_class_name, limit, capacity or 0, _conditions(found.node_topology), key, value
        )

    def _spread(self, pair: tuple[str, str]) -> tuple[int, str]:
        """Sort labels by how many machines have them."""
        return len(self._having(*pair)), pair[0]

    def _having(self, key: str, value: str) -> set[str]:
        by_value = self._labelled.get(key)
        if by_value is None:
            by_value = self._labelled[key] = {}
            for name, labels in self._nodes.items():
                by_value.setdefault(labels.get(key, ""), set()).add(name)
        return by_value.get(value, set())

    def _candidates(self, part: _Part) -> Iterable[str]:
        return self._having(part.key, part.value) if part.key else self._nodes

    def _let_reach(self, part: _Part, name: str) -> None:
        labels = self._nodes[name]
        if all(holds(condition, labels) for condition in part.conditions):
            part.nodes.add(name)
            self._at.setdefault(name, {})[part] = None

    def _remove(self, part: _Part) -> set[str]:
        pair = part.key, part.value
        del self._by_label[pair][part]
        if not self._by_label[pair]:
            del self._by_label[pair]
        for name in part.nodes:
            del self._at[name][part]
        return part.nodes


def _conditions(selector: LabelSelector) -> tuple[Condition, ...]:
    equal = [(key, "In", (value,)) for key, value in selector.match_labels.items()]
    return (*equal, *((each.key, each.operator, tuple(each.values)) for each in selector.match_expressions))


def _bytes(quantity: str | float | None) -> int | None:
    """Return an amount of storage; what is missing or makes no sense is not known."""
    if quantity is None:
        return None
    try:
        return min(max(0, amount("storage", quantity)), LARGEST)
    except QuantityError:
        return None
