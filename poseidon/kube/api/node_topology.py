"""NodeResourceTopology of topology.node.k8s.io, as far as scheduling looks at it; v1alpha2 and v1alpha1 alike.

The group has no spec or status: everything stands at the top level.
"""

from __future__ import annotations

from poseidon.kube.api.metadata import KubeStruct, Number, ObjectMeta


class ManagedFields(KubeStruct, frozen=True):
    """Who wrote some fields last; ``time`` is RFC 3339 text."""

    time: str | None = None


class TrackedMeta(ObjectMeta, frozen=True):
    """Metadata with the times of changes, which nothing else in these objects states."""

    managed_fields: tuple[ManagedFields, ...] = ()


class Attribute(KubeStruct, frozen=True):
    """A named word of the exporter."""

    name: str = ""
    value: str = ""


class ZoneCost(KubeStruct, frozen=True):
    """The distance to another zone, as the firmware's table has it."""

    name: str = ""
    value: Number = 0


class ZoneResource(KubeStruct, frozen=True):
    """What a zone has of one resource."""

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
    """topology.node.k8s.io NodeResourceTopology; it bears its node's name."""

    metadata: TrackedMeta = TrackedMeta()
    topology_policies: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    zones: tuple[Zone, ...] = ()
