"""Fills a cluster quickly, within the process: nodes by shape and zone, pods, and any other objects.

Objects pass the same admission as over HTTP, but may come with a status. While objects are created, other tasks of
the event loop run, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from poseidon.testbed.api_server.bulk import create_object
from poseidon.testbed.api_server.operations import Operations

Object = dict[str, Any]

_PAUSE_EVERY = 250


@dataclass(frozen=True, slots=True)
class NodeShape:
    """The nodes of one machine type; its quantities are written as in Kubernetes."""

    name: str = "standard"
    """Name of the machine type."""
    cpu: str = "8"
    """Allocatable cpu of a node."""
    memory: str = "32Gi"
    """Allocatable memory of a node."""
    ephemeral_storage: str = "100Gi"
    """Allocatable ephemeral storage of a node."""
    pods: int = 110
    """The most pods on a node."""
    extended: Mapping[str, str] = field(default_factory=dict)
    """Further allocatable resources of a node."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the nodes."""
    taints: Sequence[Mapping[str, str]] = ()
    """Taints of the nodes, as core/v1 Taint objects."""


def node(name: str, shape: NodeShape, *, zone: str = "", now: str = "1970-01-01T00:00:00Z") -> Object:
    """Return a ready Node of ``shape``; ``now`` is the time in its conditions."""
    resources = {
        "cpu": shape.cpu,
        "memory": shape.memory,
        "ephemeral-storage": shape.ephemeral_storage,
        "pods": str(shape.pods),
        **shape.extended,
    }
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": shape.name,
        **({"topology.kubernetes.io/zone": zone} if zone else {}),
        **shape.labels,
    }
    spec: Object = {"taints": [dict(taint) for taint in shape.taints]} if shape.taints else {}
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {
            "capacity": resources,
            "allocatable": dict(resources),
            "conditions": [_condition(*row, now) for row in _CONDITIONS],
            "addresses": [{"type": "Hostname", "address": name}],
        },
    }


async def create_nodes(
    operations: Operations,
    count: int,
    shapes: Sequence[NodeShape] = (NodeShape(),),
    zones: Sequence[str] = ("zone-a", "zone-b", "zone-c"),
    *,
    prefix: str = "node",
) -> list[str]:
    """Create ``count`` ready nodes ``PREFIX-00000``..., with shapes and zones in turn; return their names.

    Every shape occurs in every zone. Raises ``ApiError`` 409 if a name is taken.
    """
    names = [f"{prefix}-{index:05d}" for index in range(count)]
    now = operations.store.now()
    objects = (
        node(
            name,
            shapes[index % len(shapes)],
            # The zone changes only after every shape was used, so that every shape occurs in every zone.
            zone=zones[index // len(shapes) % len(zones)] if zones else "",
            now=now,
        )
        for index, name in enumerate(names)
    )
    await create_objects(operations, objects)
    return names


async def create_pods(operations: Operations, pods: Iterable[Object]) -> int:
    """Create pods from dictionaries, in which ``kind`` and ``apiVersion`` are optional; return their number.

    Callers must not use the dictionaries afterwards. Raises ``ApiError`` at the first pod that is refused; the pods
    before it stay.
    """
    return await create_objects(operations, ({"kind": "Pod", "apiVersion": "v1", **pod} for pod in pods))


async def create_objects(operations: Operations, objects: Iterable[Object]) -> int:
    """Create objects of any kinds that are served, as ``create_pods`` does for pods."""
    created = 0
    for obj in objects:
        create_object(operations, obj)
        created += 1
        if created % _PAUSE_EVERY == 0:
            await asyncio.sleep(0)
    return created


_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID"),
    ("Ready", "True", "KubeletReady"),
)


def _condition(name: str, status: str, reason: str, now: str) -> Object:
    times = {"lastHeartbeatTime": now, "lastTransitionTime": now}
    return {"type": name, "status": status, "reason": reason, "message": "", **times}
