"""What the bridge follows: the order in which collections become known, and when all that matters is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any

from prometheus_client import CollectorRegistry

from poseidon.app_network.controller import NetworkController
from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.state import BridgeState
from poseidon.kube.api import collections
from poseidon.kube.api.resource import Change, Resource
from poseidon.kube.environment import Environment
from poseidon.kube.watch.reflector import Reflector
from poseidon.metrics_sources.all_sources import Utilisation
from poseidon.pod_groups.kinds import GROUP_KINDS
from poseidon.pod_groups.membership import NATIVE_POD_GROUP


class Watching:
    """Feeds ``state`` from the API server and from sources of measured use; calls ``changed`` when it has.

    Owners of pods are followed from the moment in which a gang is a share of one's pods (``follow_owners``).
    ``network`` looks after applications and networks, None if nobody looks at them. ``native_pod_groups`` are those of
    Kubernetes itself.
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
        gangs = state.gangs
        self._nodes = self._follow(collections.NODES, state.nodes_changed)
        self._pods = self._follow(collections.PODS, state.pods_changed)
        native = self.native_pod_groups = self._follow(
            collections.NATIVE_POD_GROUPS, gangs.taker(NATIVE_POD_GROUP)
        )
        followed: list[tuple[Resource[Any], Callable[[Sequence[Change[Any]]], None]]] = [
            # A pod's priority may depend on them, and is settled when the pod is first seen.
            (collections.PRIORITY_CLASSES, state.priority_classes_changed),
            # Rules between pods may refer to namespaces by label: no round before these are known.
            (collections.NAMESPACES, state.namespaces_changed),
            # A claim that is not known yet would count as one that does not exist.
            (collections.STORAGE_CLASSES, state.storage_classes_changed),
            (collections.CSI_NODES, state.csi_nodes_changed),
            (collections.CSI_DRIVERS, state.csi_drivers_changed),
            (collections.STORAGE_CAPACITIES, state.storage_capacities_changed),
            (collections.VOLUME_ATTACHMENTS, state.volume_attachments_changed),
            (collections.VOLUMES, state.volumes_changed),
            (collections.CLAIMS, state.claims_changed),
            # Nor should a pod be told that its group does not exist before all groups are known.
            *(
                (kind.resource, gangs.taker(kind.name))
                for kind in GROUP_KINDS
                if kind.name != NATIVE_POD_GROUP
            ),
            (collections.GROUP_MAPS, gangs.group_maps_changed),
        ]
        # Pods that only services keep apart would be told twice.
        if options.configuration.pod_topology_spread.enabled:
            followed.append((collections.SERVICES, state.services_changed))
        # An owner that is not known yet would count as one that does not exist.
        if state.wants_daemon_sets:
            followed.append((collections.DAEMON_SETS, state.daemon_sets_changed))
        if gangs.topology.tree_is_read:
            maps = collections.tree_maps(gangs.topology.trees.namespace)
            followed.append((maps, gangs.topology.tree_maps_changed))
        self._before_pods = [native, *(self._follow(*each) for each in followed)]
        self._scaled = {
            kind: (asyncio.Event(), self._follow(resource, gangs.taker(kind)))
            for kind, resource in collections.SCALED_OWNERS.items()
        }
        self._custom = [
            self._follow(resource, state.custom_records.taker(custom, version))
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
        )

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
        for each in self._before_pods:
            yield each.path, each.run()
        for wanted, reflector in self._scaled.values():
            yield "owners of gangs", _once(wanted, reflector)
        yield "pods", self._pods.run(self._before_pods)
        # What a source says of a pod is understood once the pod is known.
        known = self._nodes, self._pods
        yield "utilisation", _after(known, self._utilisation)
        if self._network is not None:  # what is written of an application counts its pods
            yield "applications", _after(known, self._network)
        for each in self._custom:  # an object may say which pods it counts
            yield "custom resource", each.run([self._pods])

    def _follow(
        self, resource: Resource[Any], take: Callable[[Sequence[Change[Any]]], None]
    ) -> Reflector[Any]:
        return Reflector(self._environment, resource, take, self._changed)


async def _after(known: Iterable[Reflector[Any]], part: Utilisation | NetworkController) -> None:
    """Run a part once what it depends on is known."""
    for each in known:
        await each.wait_synced()
    await part.run()


async def _once(wanted: asyncio.Event, reflector: Reflector[Any]) -> None:
    await wanted.wait()
    await reflector.run()
