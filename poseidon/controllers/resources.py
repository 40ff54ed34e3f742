"""The collections of the API that controllers follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.kube.listing import Resource
from poseidon.kube.network_objects import AppGroup, ConfigMap, NetworkTopology
from poseidon.network.keys import APP_GROUP_VERSION, TOPOLOGY_VERSION

if TYPE_CHECKING:
    from poseidon.network.good_state import ObjectName

APP_GROUPS = Resource("appgroups", f"/apis/{APP_GROUP_VERSION}/appgroups", AppGroup)
NETWORK_TOPOLOGIES = Resource(
    "networktopologies", f"/apis/{TOPOLOGY_VERSION}/networktopologies", NetworkTopology
)
CONFIG_MAPS = Resource("configmaps", "/api/v1/configmaps", ConfigMap)
"""All of them; only single ones are ever followed, see ``config_map``."""


def config_map(name: ObjectName) -> Resource[ConfigMap]:
    """Return the collection that holds this ConfigMap alone."""
    namespace, own = name
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    return Resource(CONFIG_MAPS.name, path, ConfigMap, field_selector=f"metadata.name={own}")
