"""Keeps the capacities from which drivers can make volumes (CSIStorageCapacity), and the machines that reach them.

The rules are those of kube-scheduler's VolumeBinding (``capacitySufficient``, ``nodeHasAccess``): an object applies to
the machines that its ``nodeTopology`` selects; ``maximumVolumeSize``, or without it ``capacity``, limits a single
volume.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from poseidon.kube.api.storage import CsiStorageCapacity
from poseidon.volumes.matching import holds
from poseidon.volumes.reach import ANYWHERE, Pair, Reach
from poseidon.volumes.records import Condition, conditions_of, storage_bytes
from protos.firmament.v1 import scheduler_pb2 as pb

_LONGEST_NAME = 253
"""Longest name of a storage class, as in Kubernetes; objects that state a longer name are ignored."""

LARGEST = 2**53
"""Most bytes that are reported; larger capacities make no difference to any claim."""


@dataclass(eq=False, slots=True)
class _Part:
    """One CSIStorageCapacity: its capacities in bytes, and the machines to which it applies.

    ``pairs`` is a label that all of these machines have.
    """

    storage_class: str
    largest: int
    capacity: int
    conditions: tuple[Condition, ...]
    pairs: tuple[Pair, ...]
    nodes: set[str] = field(default_factory=set)

    @property
    def figures(self) -> tuple[str, int, int]:
        """Storage class, largest volume and capacity, without the machines."""
        return self.storage_class, self.largest, self.capacity

    def admits(self, _: str, labels: Mapping[str, str]) -> bool:
        """Return whether the object applies to a machine with these labels."""
        return all(holds(condition, labels) for condition in self.conditions)


class StorageCapacities:
    """Capacities by the machines that reach them.

    ``scored``: whether costs depend on how much of a capacity is used.

    Drivers of local storage have one object per machine, so a change of one object must need no work for other
    machines.
    """

    def __init__(self, *, scored: bool) -> None:
        self._scored = scored
        self._parts: dict[str, _Part] = {}
        self._reach: Reach[_Part] = Reach()

    def put(self, uid: str, found: CsiStorageCapacity | None) -> set[str]:
        """Update an object, None if it was deleted; return the machines that the change affects."""
        former = self._parts.pop(uid, None)
        changed: set[str] = set()
        if former is not None:
            self._reach.remove(former)
            changed = former.nodes
        part = self._part(found) if found is not None else None
        if part is None:
            return changed
        self._parts[uid] = part
        self._reach.add(part)
        same = former is not None and former.figures == part.figures
        return changed ^ part.nodes if same else changed | part.nodes

    def put_node(self, name: str, labels: Mapping[str, str]) -> bool:
        """Add or update a machine; return whether it reaches other capacities than before."""
        if self._reach.labels.get(name) == labels:
            return False
        before = set(self._reach.list_groups(name))
        self._reach.put_node(name, labels)
        return before != set(self._reach.list_groups(name))

    def remove_node(self, name: str) -> None:
        """Remove a machine that does not exist any more."""
        self._reach.remove_node(name)

    def rooms(self, node: str) -> tuple[pb.StorageRoom, ...]:
        """Return the capacities that a machine reaches, by storage class: the largest figures of several objects."""
        largest: dict[str, int] = {}
        capacity: dict[str, int] = {}
        for part in self._reach.list_groups(node):
            name = part.storage_class
            largest[name] = max(largest.get(name, 0), part.largest)
            capacity[name] = max(capacity.get(name, 0), part.capacity)
        return tuple(
            pb.StorageRoom(
                storage_class=name, largest=largest[name], capacity=capacity[name] if self._scored else 0
            )
            for name in sorted(largest)
        )

    def _part(self, found: CsiStorageCapacity) -> _Part | None:
        topology, name = found.node_topology, found.storage_class_name
        if topology is None or not name or len(name) > _LONGEST_NAME:
            return None
        capacity, largest = (storage_bytes(each) for each in (found.capacity, found.maximum_volume_size))
        limit = largest if largest is not None else capacity
        if limit is None:
            return None  # An object without amounts offers no capacity for volumes.
        # The pair is the selector's label that the fewest machines have.
        pair = min(
            topology.match_labels.items(),
            default=ANYWHERE,
            key=lambda pair: (len(self._reach.having(pair)), pair[0]),
        )
        limit, capacity = min(limit, LARGEST), min(capacity or 0, LARGEST)
        return _Part(name, limit, capacity, conditions_of(topology), (pair,))
