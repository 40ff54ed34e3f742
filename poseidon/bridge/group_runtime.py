"""The reflectors and writers behind groups, evictions and nominations, run together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from poseidon.kube.api.collections import (
    GROUP_MAPS,
    NATIVE_POD_GROUPS,
    POD_GROUPS,
    SCALED_OWNERS,
    WORKLOADS,
    tree_maps,
)
from poseidon.kube.write.evictor import EvictionOutcome, EvictionRequest, Evictor
from poseidon.kube.write.patch_writer import GroupConditionWriter, Nomination, PatchWriter
from poseidon.kube.write.write_behind import WriteBehindOptions
from poseidon.lifecycle.actions import (
    AnnounceGroup,
    AnnouncePreempted,
    Batch,
    Evict,
    Nominate,
    WithdrawEviction,
    WriteGroupCondition,
    WriteGroupMap,
    WriteGroupStatus,
    WriteMemberLabels,
)
from poseidon.pod_groups.membership import NATIVE_POD_GROUP, POD_GROUP, WORKLOAD

if TYPE_CHECKING:
    from poseidon.bridge.groups.gangs import Gangs
    from poseidon.kube.api.resource import Resource
    from poseidon.kube.watch.changes import Change
    from poseidon.kube.watch.environment import Environment
    from poseidon.kube.watch.reflector import Reflector
    from poseidon.kube.write.event_writer import EventWriter


class Follow(Protocol):
    """Makes the reflector of a resource; what it brings is passed to ``take``."""

    def __call__(
        self, resource: Resource[Any], take: Callable[[Sequence[Change[Any]]], None], /
    ) -> Reflector[Any]:
        """Make it."""
        ...


class BatchRuntime:
    """Follows the objects of groups and carries out what is decided about them, until cancelled.

    Owners of pods are followed from the moment in which a gang is a share of one's pods. ``on_evicted`` is told what
    has become of each eviction; ``wait_quiet`` returns once no binding waits.
    """

    def __init__(
        self,
        environment: Environment,
        gangs: Gangs,
        follow: Follow,
        events: EventWriter,
        on_evicted: Callable[[EvictionOutcome], None],
        *,
        wait_quiet: Callable[[], Awaitable[None]],
        writes: WriteBehindOptions,
    ) -> None:
        self._gangs = gangs
        self._events = events
        native = follow(NATIVE_POD_GROUPS, gangs.taker(NATIVE_POD_GROUP))
        self._groups: list[Reflector[Any]] = [
            follow(POD_GROUPS, gangs.taker(POD_GROUP)),
            follow(WORKLOADS, gangs.taker(WORKLOAD)),
            native,
            follow(GROUP_MAPS, gangs.group_maps_changed),
        ]
        if gangs.topology.tree_is_read:
            maps = tree_maps(gangs.topology.trees.namespace)
            self._groups.append(follow(maps, gangs.topology.tree_maps_changed))
        self._owners = {
            kind: (asyncio.Event(), follow(resource, gangs.taker(kind)))
            for kind, resource in SCALED_OWNERS.items()
        }
        transport, metrics, random = environment.transport, environment.metrics, environment.random
        self._evictor = Evictor(
            transport,
            on_evicted,
            metrics=metrics,
            random=random,
            clock=environment.clock,
            wall=environment.wall,
        )
        shared: dict[str, Any] = {
            "wait_quiet": wait_quiet,
            "metrics": metrics,
            "random": random,
            "options": writes,
        }
        self._nominations = PatchWriter("nomination", transport, **shared)
        self._topology = PatchWriter("topology group", transport, **shared)
        self._statuses = PatchWriter("pod group", transport, **shared)
        self._conditions = GroupConditionWriter(lambda: native.path, transport, **shared)

    async def wait_synced(self) -> None:
        """Wait until the objects that pods may name are known, so that none is missed at the start."""
        for each in self._groups:
            await each.wait_synced()

    def wake(self) -> None:
        """Follow the owners that have come to matter."""
        for kind, (wanted, _) in self._owners.items():
            if self._gangs.wants(kind):
                wanted.set()

    def carry_out(self, action: Batch) -> None:
        """Queue what is to be written."""
        match action:
            case Evict(pod, node, beyond_budget, message):
                self._evictor.submit(EvictionRequest(pod, node, beyond_budget, message))
            case WithdrawEviction(uid):
                self._evictor.withdraw(uid)
            case AnnouncePreempted(pod, message):
                self._events.preempted(pod, message)
            case Nominate(pod, node):
                self._nominations.submit(Nomination(pod, node))
            case WriteGroupStatus(write):
                self._statuses.submit(write)
            case WriteGroupCondition(condition):
                self._conditions.submit(condition)
            case AnnounceGroup(group, reason, message):
                self._events.about_group(group, reason, message)
            case WriteGroupMap(map_write):
                self._topology.submit(map_write)
            case WriteMemberLabels(labels):
                self._topology.submit(labels)

    def bound(self, uid: str) -> None:
        """A pod has been bound: no node is to be kept for it any more."""
        self._nominations.withdraw(uid)

    async def wait_drained(self) -> None:
        """Wait until nothing that is said of groups waits to be written."""
        writers = self._statuses, self._conditions, self._topology
        await asyncio.gather(*(writer.wait_drained() for writer in writers))

    async def run(self) -> None:
        """Follow and write for ever."""
        async with asyncio.TaskGroup() as parts:
            for each in self._groups:
                parts.create_task(each.run())
            for wanted, reflector in self._owners.values():
                parts.create_task(_once(wanted, reflector))
            writers = self._nominations, self._statuses, self._conditions, self._topology
            for writer in (self._evictor, *writers):
                parts.create_task(writer.run())


async def _once(wanted: asyncio.Event, reflector: Reflector[Any]) -> None:
    await wanted.wait()
    await reflector.run()
