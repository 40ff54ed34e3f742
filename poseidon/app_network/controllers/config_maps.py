"""Follows single ConfigMaps by name, as many as are wanted at the time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from poseidon.kube.api.collections import config_map

if TYPE_CHECKING:
    from poseidon.app_network.good_state import ObjectName
    from poseidon.kube.api.app_network import ConfigMap
    from poseidon.kube.api.resource import Resource
    from poseidon.kube.watch.changes import Change, Handler
    from poseidon.kube.watch.reflector import Reflector

Take = Callable[["ObjectName", "Mapping[str, str] | None"], None]


class ConfigMapFollower:
    """Tells ``take`` the data of each wanted ConfigMap, None for one that is not there.

    ``make`` makes a reflector. ``want`` may be called at any time while ``run`` runs.
    """

    def __init__(
        self, take: Take, make: Callable[[Resource[ConfigMap], Handler[ConfigMap]], Reflector[ConfigMap]]
    ) -> None:
        self._take = take
        self._make = make
        self._tasks: dict[ObjectName, asyncio.Task[None]] = {}
        self._first_looks: dict[ObjectName, Reflector[ConfigMap]] = {}
        self._group: asyncio.TaskGroup | None = None
        self._wanted: frozenset[ObjectName] = frozenset()

    def want(self, names: frozenset[ObjectName]) -> None:
        """Follow these, and no longer others."""
        self._wanted = names
        if self._group is None:
            return
        for name in [*self._tasks]:
            if name not in names:
                self._tasks.pop(name).cancel()
                self._first_looks.pop(name, None)
                self._take(name, None)
        for name in sorted(names - self._tasks.keys()):
            reflector = self._make(config_map(*name), _OneConfigMap(name, self._take))
            self._first_looks[name] = reflector
            self._tasks[name] = self._group.create_task(reflector.run(), name="configmap")

    async def wait_synced(self) -> None:
        """Wait until each of those that are wanted now has been looked for once."""
        for reflector in [*self._first_looks.values()]:
            await reflector.wait_synced()

    async def run(self) -> None:
        """Follow for ever."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            self.want(self._wanted)
            await asyncio.Event().wait()


class _OneConfigMap:
    """Takes the changes of a collection with at most one object."""

    def __init__(self, name: ObjectName, take: Take) -> None:
        self._name = name
        self._take = take
        self._uid = ""

    def on_changes(self, changes: Sequence[Change[ConfigMap]]) -> None:
        """Pass on what the object holds."""
        for change in changes:
            if change.object is not None:
                self._uid = change.uid
                self._take(self._name, change.object.data)
            elif change.uid == self._uid:
                # The absence of one that has been created again meanwhile is no news.
                self._uid = ""
                self._take(self._name, None)

    def on_synced(self) -> None:
        """Nothing to do: whoever waits asks the reflector."""
