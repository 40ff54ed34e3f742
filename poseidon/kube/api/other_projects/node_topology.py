"""NodeResourceTopology of topology.node.k8s.io (v1alpha2 and v1alpha1), with the fields that a scheduler
reads.

The group has no spec or status: all fields are at the top level.
"""

from __future__ import annotations

from poseidon.kube.api.metadata import KubeStruct, Number, ObjectMeta


class ManagedFields(KubeStruct, frozen=True):
    """The last writer of some fields; ``time`` is RFC 3339 text."""

    time: str | None = None


class TrackedMeta(ObjectMeta, frozen=True):
    """Metadata with the times of changes, which these objects state nowhere else."""

    managed_fields: tuple[ManagedFields, ...] = ()


class Attribute(KubeStruct, frozen=True):
    """A name and value from the exporter."""

    name: str = ""
    value: str = ""


class ZoneCost(KubeStruct, frozen=True):
    """The distance to another zone, from the firmware's table."""

    name: str = ""
    value: Number = 0


class ZoneResource(KubeStruct, frozen=True):
    """A zone's amounts of one resource."""

    name: str = ""
    capacity: Number | None = None
    allocatable: Number | None = None
    available: Number | None = None


class Zone(KubeStruct, frozen=True):
    """A part of a node; those of type Node are its NUMA cells."""

    name: str = ""
    type: str = ""
    costs: tuple[ZoneCost, ...] = ()
    resources: tuple[ZoneResource, ...] = ()


class NodeResourceTopology(KubeStruct, frozen=True):
    """topology.node.k8s.io NodeResourceTopology; it has the name of its node."""

    metadata: TrackedMeta = TrackedMeta()
    topology_policies: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    zones: tuple[Zone, ...] = ()
