"""The ConfigMaps that the bridge follows for topology groups, picked by their labels."""

from __future__ import annotations

from poseidon.kube.listing import Resource
from poseidon.kube.network_objects import ConfigMap
from poseidon.topology.keys import GROUP_MAP_LABEL, TREE_MAP_LABEL

GROUP_MAPS = Resource("group-configmaps", "/api/v1/configmaps", ConfigMap, label_selector=GROUP_MAP_LABEL)


def tree_maps(namespace: str) -> Resource[ConfigMap]:
    """Return the collection of the ConfigMaps in a namespace that describe the cluster's tree."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    return Resource("tree-configmaps", path, ConfigMap, label_selector=TREE_MAP_LABEL)
