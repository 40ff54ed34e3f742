"""Defines topology.node.k8s.io NodeResourceTopology (v1alpha2 and v1alpha1), which describes NUMA zones.

The kind has no spec or status: all fields are at the top level.
"""

from __future__ import annotations

from poseidon.kube.api.metadata import KubeStruct, Number, ObjectMeta


class ManagedFields(KubeStruct, frozen=True):
    """An entry of ``managedFields``: when some fields were last written, as RFC 3339 text."""

    time: str | None = None


class TrackedMeta(ObjectMeta, frozen=True):
    """Metadata with the times of changes, because the objects state these times nowhere else."""

    managed_fields: tuple[ManagedFields, ...] = ()


class Attribute(KubeStruct, frozen=True):
    """A name and value that the exporter on the node has set."""

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
