"""Watches AppGroups, NetworkTopologies and measurements, and writes the objects' statuses and costs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from poseidon.app_network.object_writer import ObjectWriter
from poseidon.app_network.proposals import Proposal
from poseidon.app_network.spec.keys import ObjectKey
from poseidon.app_network.state import NetworkState
from poseidon.app_network.topologies import MapName
from poseidon.kube.api.collections import APP_GROUPS, NETWORK_TOPOLOGIES, config_map
from poseidon.kube.api.other_projects.app_network import ConfigMap
from poseidon.kube.api.resource import Change
from poseidon.kube.client.backoff import Backoff
from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.environment import Environment
from poseidon.kube.watch.reflector import Reflector
from poseidon.kube.write.event_writer import EventWriter

Take = Callable[["MapName", "Mapping[str, str] | None"], None]

GATHER_SECONDS = 0.5
"""The seconds for which changes are gathered before a write, because many pods often change at once."""

REST = 4.0
"""The pause after writes, as a multiple of the time that they took, so that the API server stays responsive."""

CONCURRENCY = 8
"""The number of objects that are written at the same time."""

_log = logging.getLogger(__name__)


class ConfigMapFollower:
    """A watch of the wanted ConfigMaps, which calls ``take`` with the name and data of each, None for a missing one.

    ``want`` may be called at any time while ``run`` runs.
    """

    def __init__(self, take: Take, environment: Environment) -> None:
        self._take = take
        self._environment = environment
        self._followed: dict[MapName, tuple[Reflector[ConfigMap], asyncio.Task[None]]] = {}
        self._uids: dict[MapName, str] = {}
        self._group: asyncio.TaskGroup | None = None
        self._wanted: frozenset[MapName] = frozenset()

    def want(self, names: frozenset[MapName]) -> None:
        """Watch exactly the ConfigMaps of these names from now on."""
        self._wanted = names
        if self._group is None:
            return
        for name in [*self._followed]:
            if name not in names:
                _, task = self._followed.pop(name)
                task.cancel()
                self._uids.pop(name, None)
                self._take(name, None)
        for name in sorted(names - self._followed.keys()):
            # These reflectors need no callback after the first list, because `wait_synced` waits for them.
            reflector = Reflector(self._environment, config_map(*name), partial(self._pass_on, name))
            task = self._group.create_task(reflector.run(), name="configmap")
            self._followed[name] = reflector, task

    def _pass_on(self, name: MapName, changes: Sequence[Change[ConfigMap]]) -> None:
        """Call ``take`` with the changes of a ConfigMap, which come from a collection of at most one object."""
        for change in changes:
            if change.object is not None:
                self._uids[name] = change.uid
                self._take(name, change.object.data)
            elif change.uid == self._uids.get(name):
                # A different uid belongs to an earlier ConfigMap with this name, which has been created again.
                del self._uids[name]
                self._take(name, None)

    async def wait_synced(self) -> None:
        """Wait until each wanted ConfigMap has been read once."""
        for reflector, _ in [*self._followed.values()]:
            await reflector.wait_synced()

    async def run(self) -> None:
        """Watch the wanted ConfigMaps until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            self.want(self._wanted)
            await asyncio.Event().wait()


class NetworkController:
    """The controller that passes objects to ``network``, calls ``changed`` afterwards, and writes the book's proposals.

    If ``events`` is None, nothing is written; otherwise nothing is written before ``may_begin`` returns. Each write
    states the version of the object from which the write was computed. If the API server refuses a write because the
    object has changed meanwhile, the write is computed again.
    """

    def __init__(
        self,
        environment: Environment,
        network: NetworkState,
        events: EventWriter | None,
        changed: Callable[[], None],
        *,
        may_begin: Callable[[], Awaitable[None]],
    ) -> None:
        self._environment = environment
        self._network = network
        self._events = events
        self._changed = changed
        self._may_begin = may_begin
        self._writer = ObjectWriter(environment.transport)
        self._fresh = asyncio.Event()
        self._settled = asyncio.Event()
        self._backoff = Backoff(environment.random)
        self._taken: dict[ObjectKey, tuple[str, bytes]] = {}
        self._config_maps = ConfigMapFollower(self._config_map_changed, environment)
        self._app_groups = Reflector(environment, APP_GROUPS, network.app_groups_changed, self._follow)
        self._topologies = Reflector(
            environment, NETWORK_TOPOLOGIES, network.topologies_changed, self._topologies_followed
        )

    @property
    def has_settled(self) -> bool:
        """Whether all objects have been read; objects of a kind that the API server does not serve count as read."""
        return self._settled.is_set()

    def wake(self) -> None:
        """Compare the statuses again, because pods or nodes may have changed."""
        self._fresh.set()

    async def run(self) -> None:
        """Watch the objects and write their statuses until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._app_groups.run(), name="appgroups")
            group.create_task(self._topologies.run(), name="networktopologies")
            group.create_task(self._config_maps.run(), name="configmaps")
            await self._app_groups.wait_synced()
            await self._topologies.wait_synced()
            await self._config_maps.wait_synced()
            self._settled.set()
            self._changed()
            if self._events is not None:
                group.create_task(self._events.run(), name="object events")
                group.create_task(self._write(), name="object status")

    async def wait_drained(self) -> None:
        """Wait until all events have been sent."""
        if self._events is not None:
            await self._events.wait_drained()

    # --- watching objects --------------------------------------------------------------------------------

    def _follow(self) -> None:
        self._fresh.set()
        self._changed()

    def _topologies_followed(self) -> None:
        self._config_maps.want(self._network.topologies.list_config_maps())
        self._follow()

    def _config_map_changed(self, name: MapName, data: Mapping[str, str] | None) -> None:
        self._network.config_map_changed(name, data)
        self._follow()

    # --- writing statuses ----------------------------------------------------------------------------------

    async def _write(self) -> None:
        await self._may_begin()
        self._fresh.set()
        while True:
            await self._fresh.wait()
            await self._environment.sleep(GATHER_SECONDS)
            self._fresh.clear()
            limit = asyncio.Semaphore(CONCURRENCY)
            dirty, begin = self._network.take_dirty(), self._environment.clock()
            failed = [
                each for each in await asyncio.gather(*(self._see_to(key, limit) for key in dirty)) if each
            ]
            if not failed:
                self._backoff.reset()
                await self._environment.sleep(REST * (self._environment.clock() - begin))
                continue
            delay = max(self._backoff.next(), *(getattr(each, "retry_after", None) or 0.0 for each in failed))
            _log.warning('objects not written, trying again objects=%d error="%s"', len(failed), failed[0])
            await self._environment.sleep(delay)
            self._fresh.set()

    async def _see_to(self, key: ObjectKey, limit: asyncio.Semaphore) -> KubeError | None:
        """Write an object if it differs from its proposal.

        Return the error after which to try again, None if no error came.
        """
        async with limit:
            result = self._network.reconcile(key, self._environment.wall())
            if result is None:
                self._taken.pop(key, None)
                return None
            proposal, notices = result
            for notice in notices:
                assert self._events is not None
                self._events.warn(notice.about, notice.reason, notice.message)
            # A field that the API server accepts but does not store must not be written again and again.
            if proposal.is_empty or self._taken.get(key) == (proposal.version, proposal.wanted):
                return None
            try:
                await self._carry_out(proposal)
            except KubeError as error:
                if isinstance(error, ApiError) and not error.transient:
                    _log.warning('object not written kind=%s name=%s/%s error="%s"', *key, error)
                    return None
                self._network.mark_dirty(key)
                return error
            except Exception as error:  # noqa: BLE001 - one object that cannot be written must not end the others
                name = f"{key.namespace}/{key.name}"
                self._environment.quarantine.set_aside(f"writes of {key.kind}", name, error)
        return None

    async def _carry_out(self, proposal: Proposal) -> None:
        outcome = await self._writer.write(proposal)
        self._environment.metrics.writes.status_writes.labels(
            "object status", "conflict" if outcome.conflict else "written"
        ).inc()
        found = outcome.found
        if found is None or found.metadata.uid != proposal.uid:
            # The object was deleted, or replaced by another object with its name; the watch reports this.
            return
        if not outcome.conflict:
            self._taken[proposal.key] = (found.metadata.resource_version, proposal.wanted)
        self._network.note_object(found)
        self._fresh.set()
