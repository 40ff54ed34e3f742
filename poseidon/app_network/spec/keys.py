"""Defines the names by which pods, nodes and objects refer to applications and networks, as diktyo-io does."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

APP_GROUP_KIND, TOPOLOGY_KIND = "AppGroup", "NetworkTopology"
"""The kinds of the objects, and of their records for the solver."""

APPLICATION_RECORDS = frozenset({APP_GROUP_KIND, TOPOLOGY_KIND})

REGION, ZONE = "region", "zone"
LEVEL_OF_KEY: Mapping[str, str] = MappingProxyType(
    {"topology.kubernetes.io/region": REGION, "topology.kubernetes.io/zone": ZONE}
)
KEY_OF_LEVEL: Mapping[str, str] = MappingProxyType({level: key for key, level in LEVEL_OF_KEY.items()})

KAHN_SORT = "KahnSort"
"""The algorithm that orders workloads if the stated algorithm is unknown."""

NETPERF_COSTS = "NetperfCosts"
"""The name of the list of weights that the bridge computes from measurements."""


class ObjectKey(NamedTuple):
    """The kind, namespace and name of an AppGroup or NetworkTopology."""

    kind: str
    namespace: str
    name: str


class Domain(NamedTuple):
    """The region and zone of a node; "" for a label that the node does not have."""

    region: str = ""
    zone: str = ""


def domain_of(labels: Mapping[str, str]) -> Domain:
    """Return the region and the zone that a node's labels state."""
    return Domain(labels.get(KEY_OF_LEVEL[REGION], ""), labels.get(KEY_OF_LEVEL[ZONE], ""))
