"""What the bridge follows: the order in which collections become known, and when all that matters is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from poseidon.kube.api.collections import (
    CLAIMS,
    CSI_DRIVERS,
    CSI_NODES,
    DAEMON_SETS,
    GROUP_MAPS,
    NAMESPACES,
    NATIVE_POD_GROUPS,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    SCALED_OWNERS,
    SERVICES,
    STORAGE_CAPACITIES,
    STORAGE_CLASSES,
    VOLUMES,
    WORKLOADS,
    tree_maps,
)
from poseidon.kube.watch.changes import Feed
from poseidon.metrics_sources.all_sources import Utilisation
from poseidon.pod_groups.membership import NATIVE_POD_GROUP, POD_GROUP, WORKLOAD

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from poseidon.app_network.controller import NetworkController
    from poseidon.bridge.options import BridgeOptions
    from poseidon.bridge.state import BridgeState
    from poseidon.kube.api.resource import Resource
    from poseidon.kube.watch.changes import Change, ReflectorOptions
    from poseidon.kube.watch.environment import Environment
    from poseidon.kube.watch.reflector import Reflector


class Watching:
    """Feeds ``state`` from the API server and from sources of measured use; calls ``changed`` when it has.

    Owners of pods are followed from the moment in which a gang is a share of one's pods (``follow_owners``).
    ``network`` looks after applications and networks, None if nobody looks at them.
    """

    def __init__(
        self,
        environment: Environment,
        options: BridgeOptions,
        state: BridgeState,
        changed: Callable[[], None],
        *,
        registry: CollectorRegistry,
        network: NetworkController | None,
    ) -> None:
        self._environment = environment
        self._changed = changed
        self._network = network
        always, optional = options.reflector, options.optional_reflector
        self._nodes = self._follow(NODES, state.nodes_changed, always)
        self._pods = self._follow(PODS, state.pods_changed, always)
        self._priority_classes = self._follow(PRIORITY_CLASSES, state.priority_classes_changed, optional)
        self._namespaces = self._follow(NAMESPACES, state.namespaces_changed, optional)
        self._services = self._follow(SERVICES, state.services_changed, optional)
        self._spreads = options.configuration.pod_topology_spread.enabled
        self._storage: tuple[Reflector[Any], ...] = (
            self._follow(STORAGE_CLASSES, state.storage_classes_changed, optional),
            self._follow(CSI_NODES, state.csi_nodes_changed, optional),
            self._follow(CSI_DRIVERS, state.csi_drivers_changed, optional),
            self._follow(STORAGE_CAPACITIES, state.storage_capacities_changed, optional),
            self._follow(VOLUMES, state.volumes_changed, optional),
            self._follow(CLAIMS, state.claims_changed, optional),
        )
        self._owners: tuple[Reflector[Any], ...] = ()
        if state.wants_daemon_sets:
            self._owners = (self._follow(DAEMON_SETS, state.daemon_sets_changed, optional),)
        gangs = state.gangs
        self._native_groups = self._follow(NATIVE_POD_GROUPS, gangs.taker(NATIVE_POD_GROUP), optional)
        self._groups: list[Reflector[Any]] = [
            self._follow(POD_GROUPS, gangs.taker(POD_GROUP), optional),
            self._follow(WORKLOADS, gangs.taker(WORKLOAD), optional),
            self._native_groups,
            self._follow(GROUP_MAPS, gangs.group_maps_changed, optional),
        ]
        if gangs.topology.tree_is_read:
            maps = tree_maps(gangs.topology.trees.namespace)
            self._groups.append(self._follow(maps, gangs.topology.tree_maps_changed, optional))
        self._scaled = {
            kind: (asyncio.Event(), self._follow(resource, gangs.taker(kind), optional))
            for kind, resource in SCALED_OWNERS.items()
        }
        self._custom = [
            self._follow(resource, state.custom_records.taker(custom, version), optional)
            for custom in state.custom_resources
            for version, resource in enumerate(custom.resources)
        ]
        self._utilisation = Utilisation(
            environment,
            options.configuration.utilisation,
            state.samples,
            state,
            changed,
            registry=registry,
            reflector=optional,
        )

    @property
    def pod_groups_path(self) -> str:
        """Under which path all PodGroups of Kubernetes itself are served, as far as is known."""
        return self._native_groups.path

    def follow_owners(self, kinds: Iterable[str]) -> None:
        """Follow owners of these kinds: they have come to matter."""
        for kind in kinds:
            if kind in self._scaled:
                self._scaled[kind][0].set()

    @property
    def has_settled(self) -> bool:
        """Whether the solver would see the cluster as it is; a first round that does not could go badly wrong."""
        known = self._nodes.has_synced and self._pods.has_synced and self._utilisation.has_settled
        known = known and (self._network is None or self._network.has_settled)
        return known and all(each.has_synced for each in self._custom)

    def parts(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """Yield what has to run until it is cancelled, with names."""
        yield "nodes", self._nodes.run()
        yield "priorityclasses", self._priority_classes.run()
        yield "namespaces", self._namespaces.run()
        if self._spreads:
            yield "services", self._services.run()
        for each in self._storage:
            yield "storage", each.run()
        for each in self._owners:
            yield "owners", each.run()
        for each in self._groups:
            yield "groups", each.run()
        for wanted, reflector in self._scaled.values():
            yield "owners of gangs", _once(wanted, reflector)
        yield "pods", self._follow_pods()
        yield "utilisation", self._follow_use()
        yield "applications", self._follow_applications()
        for each in self._custom:
            yield "custom resource", self._follow_custom(each)

    def _follow(
        self,
        resource: Resource[Any],
        take: Callable[[Sequence[Change[Any]]], None],
        options: ReflectorOptions,
    ) -> Reflector[Any]:
        return self._environment.reflector(resource, Feed(take, self._changed), options)

    async def _follow_pods(self) -> None:
        # A pod's priority may depend on them, and is settled when the pod is first seen.
        await self._priority_classes.wait_synced()
        # Rules between pods may refer to namespaces by label: no round before these are known.
        await self._namespaces.wait_synced()
        # Pods that only services keep apart would be told twice.
        if self._spreads:
            await self._services.wait_synced()
        # A claim, or an owner, that is not known yet would count as one that does not exist.
        # Nor should a pod be told that its group does not exist before all groups are known.
        for each in (*self._storage, *self._owners, *self._groups):
            await each.wait_synced()
        await self._pods.run()

    async def _follow_use(self) -> None:
        # What a source says of a pod is understood once the pod is known.
        await self._nodes.wait_synced()
        await self._pods.wait_synced()
        await self._utilisation.run()

    async def _follow_applications(self) -> None:
        # What is written of an application counts its pods.
        await self._nodes.wait_synced()
        await self._pods.wait_synced()
        if self._network is None:
            await asyncio.Event().wait()
        else:
            await self._network.run()

    async def _follow_custom(self, reflector: Reflector[Any]) -> None:
        # Likewise: an object may say which pods it counts.
        await self._pods.wait_synced()
        await reflector.run()


async def _once(wanted: asyncio.Event, reflector: Reflector[Any]) -> None:
    await wanted.wait()
    await reflector.run()
