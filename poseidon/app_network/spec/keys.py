"""The names by which pods, nodes and objects refer to applications and networks, as diktyo-io defines them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

APP_GROUP_KIND, TOPOLOGY_KIND = "AppGroup", "NetworkTopology"
"""Kinds of the objects, and of the records that solvers get of them."""

APPLICATION_RECORDS = frozenset({APP_GROUP_KIND, TOPOLOGY_KIND})

REGION, ZONE = "region", "zone"
LEVEL_OF_KEY: Mapping[str, str] = MappingProxyType(
    {"topology.kubernetes.io/region": REGION, "topology.kubernetes.io/zone": ZONE}
)
KEY_OF_LEVEL: Mapping[str, str] = MappingProxyType({level: key for key, level in LEVEL_OF_KEY.items()})

KAHN_SORT = "KahnSort"
"""The algorithm that orders workloads if the stated algorithm is unknown."""

NETPERF_COSTS = "NetperfCosts"
"""Name of the list of weights that the bridge computes from measurements."""


class ObjectKey(NamedTuple):
    """Identity of an AppGroup or NetworkTopology."""

    kind: str
    namespace: str
    name: str


class Domain(NamedTuple):
    """Region and zone of a node; "" for a label that it lacks."""

    region: str = ""
    zone: str = ""


def domain_of(labels: Mapping[str, str]) -> Domain:
    """Return the region and the zone that a node's labels state."""
    return Domain(labels.get(KEY_OF_LEVEL[REGION], ""), labels.get(KEY_OF_LEVEL[ZONE], ""))
