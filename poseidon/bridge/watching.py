"""Follows the collections of the API server in the right order, and says when the cluster is known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any

from prometheus_client import CollectorRegistry

from poseidon.app_network.controller import NetworkController
from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.state import BridgeState
from poseidon.kube.api import collections, kinds
from poseidon.kube.api.resource import Change, Resource
from poseidon.kube.environment import Environment
from poseidon.kube.watch.reflector import Reflector
from poseidon.metrics_sources.all_sources import Utilisation


class Watching:
    """The watches that update ``state`` from the API server and sources of measured use, and then call ``changed``.

    Owners of pods are followed once ``follow_owners`` is called, because a gang's size depends on its owner's pods.
    ``network`` is the controller of applications and networks, None if no cost model uses them.
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
        followed = {
            kind: self._follow(kind.resource, state.handlers[kind])
            for kind in (*kinds.BEFORE_PODS, kinds.POD)
            if state.follows(kind)
        }
        self._nodes, self._pods = followed.pop(kinds.NODE), followed.pop(kinds.POD)
        self._by_path = {kind.resource.path: reflector for kind, reflector in followed.items()}
        self._before_pods = [*followed.values()]
        if gangs.topology.tree_is_read:
            maps = collections.tree_maps(gangs.topology.trees.namespace)
            self._before_pods.append(self._follow(maps, gangs.topology.tree_maps_changed))
        self._scaled = {
            kind.name: (asyncio.Event(), self._follow(kind.resource, state.owner_taker(kind.name)))
            for kind in kinds.OWNERS
        }
        if state.queues is not None and state.queues.looks_at_owners:
            # If a pod's owner is not known yet, the pod would count as a pod in no queue.
            state.queues.follows_owners = True
            self._before_pods += [reflector for kind, (_, reflector) in self._scaled.items() if kind != "Job"]
            self._scaled = {}
            queued = {"Job": collections.QUEUED_JOBS, **collections.QUEUED_OWNERS}
            self._before_pods += [
                self._follow(resource, state.make_owner_taker(kind, resource))
                for kind, resource in queued.items()
            ]
        self._custom = [
            self._follow(resource, state.custom_records.get_handler(custom, version))
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
        """Watch owners of these kinds from now on."""
        for kind in kinds:
            if kind in self._scaled:
                self._scaled[kind][0].set()

    def find_served(self, path: str) -> str:
        """Return the path at which this API server serves a collection.

        ``path`` is that of the preferred version; an older server may have only an earlier version, at another path.
        """
        reflector = self._by_path.get(path)
        return reflector.path if reflector is not None else path

    @property
    def has_settled(self) -> bool:
        """Whether all collections and measurements have been read. A round before that could place pods badly."""
        known = self._nodes.has_synced and self._pods.has_synced and self._utilisation.has_settled
        known = known and (self._network is None or self._network.has_settled)
        return known and all(each.has_synced for each in self._custom)

    def parts(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """Yield names and coroutines of the parts that must run until cancelled."""
        yield "nodes", self._nodes.run()
        for each in self._before_pods:
            yield each.path, each.run()
        for wanted, reflector in self._scaled.values():
            yield "owners of gangs", _once(wanted, reflector)
        yield "pods", self._pods.run(self._before_pods)
        # Measurements of a pod are useful only once the bridge knows the pod.
        known = self._nodes, self._pods
        yield "utilisation", _run_after(known, self._utilisation)
        if self._network is not None:  # The status of an application counts the application's pods.
            yield "applications", _run_after(known, self._network)
        for each in self._custom:  # The figures of an object may name the pods that they include.
            yield "custom resource", each.run([self._pods])

    def _follow(
        self, resource: Resource[Any], take: Callable[[Sequence[Change[Any]]], None]
    ) -> Reflector[Any]:
        # Anybody may create pods: many pods in one namespace must not delay pods of other namespaces.
        in_turn = resource is kinds.POD.resource
        return Reflector(self._environment, resource, take, self._changed, in_turn=in_turn)


async def _run_after(known: Iterable[Reflector[Any]], part: Utilisation | NetworkController) -> None:
    """Run a part of the bridge once the collections that it needs have been listed."""
    for each in known:
        await each.wait_synced()
    await part.run()


async def _once(wanted: asyncio.Event, reflector: Reflector[Any]) -> None:
    await wanted.wait()
    await reflector.run()
