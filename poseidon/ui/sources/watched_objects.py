"""Watches the objects in the API server for the dashboard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from poseidon.kube.api import collections
from poseidon.kube.watch.reflector import Reflector
from poseidon.pod_groups.kinds import GROUP_KINDS

if TYPE_CHECKING:
    from poseidon.kube.api.nodes import Node
    from poseidon.kube.api.other_projects.node_topology import NodeResourceTopology
    from poseidon.kube.api.resource import Change, Resource
    from poseidon.kube.environment import Environment
    from poseidon.ui.page_data import Known
    from poseidon.ui.sources.measured import MeasuredUse

_Take: TypeAlias = "Callable[[Sequence[Change[Any]]], None]"


def followers(environment: Environment, known: Known, measured: MeasuredUse) -> list[Reflector[Any]]:
    """Return a watcher for each collection; a collection that not every cluster has may be absent."""
    groups, store = known.groups, known.store

    def nodes_changed(changes: Sequence[Change[Node]]) -> None:
        store.nodes_changed(changes)
        groups.nodes_changed(changes)

    mark_groups = partial(known.versions.mark, "groups")
    own: list[tuple[Resource[Any], _Take]] = [
        (collections.NODES, nodes_changed),
        (collections.PODS, store.pods_changed),
        (collections.NODE_TOPOLOGIES, zones_taker(known)),
        (collections.NODE_METRICS, measured.node_metrics_changed),
    ]
    mark_nodes = partial(known.versions.mark, "cluster")
    of_devices: list[tuple[Resource[Any], _Take]] = [
        (collections.RESOURCE_SLICES, known.devices.slices_changed),
        (collections.RESOURCE_CLAIMS, known.devices.claims_changed),
    ]
    of_groups: list[tuple[Resource[Any], _Take]] = [
        *((kind.resource, partial(groups.groups_changed, name)) for name, kind in GROUP_KINDS.items()),
        (collections.HYPER_NODES, groups.hyper_nodes_changed),
        (collections.GROUP_MAPS, groups.group_config_maps_changed),
        (collections.tree_maps(groups.trees.namespace), groups.tree_maps_changed),
        (collections.APP_GROUPS, groups.app_groups_changed),
        (collections.NETWORK_TOPOLOGIES, groups.topologies_changed),
    ]
    return [
        *(Reflector(environment, *each) for each in own),
        *(Reflector(environment, *each, mark_nodes) for each in of_devices),
        *(Reflector(environment, *each, mark_groups) for each in of_groups),
    ]


def zones_taker(known: Known) -> Callable[[Sequence[Change[NodeResourceTopology]]], None]:
    """Return the handler of changed NodeResourceTopologies; each has the name of its node."""
    names: dict[str, str] = {}

    def take_changes(changes: Sequence[Change[NodeResourceTopology]]) -> None:
        for uid, found in changes:
            if found is not None:
                names[uid] = found.metadata.name
                known.zones[found.metadata.name] = found
            elif uid in names:
                known.zones.pop(names.pop(uid), None)

    return take_changes
