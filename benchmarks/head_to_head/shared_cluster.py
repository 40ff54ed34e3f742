"""A cluster that several schedulers use in turn: nodes and their prior pods stay, other objects are removed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

import msgspec

from benchmarks.declarative.templates import Manifest
from benchmarks.processes.parts.cluster_objects import (
    create_object,
    delete_object,
    delete_pod,
    ensure_empty_namespace,
    in_parallel,
    remove_namespace,
)
from benchmarks.targets.base import TargetError
from benchmarks.targets.watching import PodWatch, watching
from poseidon.demo.binding_latency import PodName
from poseidon.kube.api.collections import PODS
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from poseidon.kube.watch.listing import pages

_PAGE = 5000
Key = tuple[str, str, str]


class SharedCluster:
    """The objects of an API server that runs of several schedulers share: ``async with``.

    Nodes, and pods that name their node, which a run creates before its scheduler starts, stay for the next run if it
    asks for the same. In the end all objects are removed, unless the cluster ``ends`` with the run.
    """

    def __init__(
        self, kubeconfig: Path, clock: Callable[[], float] = time.monotonic, *, ends: bool = False
    ) -> None:
        self._kubeconfig = kubeconfig
        self._ends = ends
        self._clock = clock
        self._resources = AsyncExitStack()
        self._namespaces: set[str] = set()
        self._kept: dict[Key, Manifest] = {}
        self._asked: set[Key] = set()
        self._passing: dict[Key, Manifest] = {}

    async def __aenter__(self) -> Self:
        settings = load_settings(self._kubeconfig)
        enter = self._resources.enter_async_context
        self.transport = await enter(Transport(settings, clock=self._clock, user_agent="poseidon-bench"))
        try:
            await self.transport.get("/version")  # a watch of an absent server would wait for ever
            self.watch: PodWatch = await enter(watching(self.transport, self._clock))
        except BaseException:
            await self._resources.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            if not self._ends:
                await self._remove_all()
        finally:
            await self._resources.aclose()

    async def _remove_all(self) -> None:
        await self._remove(self._passing)
        pods = {key: each for key, each in self._kept.items() if each.kind == "Pod"}
        await self._remove(pods)
        await self._remove(self._kept)
        for namespace in self._namespaces:
            await remove_namespace(self.transport, namespace)

    @property
    def nodes(self) -> int:
        """Number of created nodes."""
        return sum(each.kind == "Node" for each in self._kept.values())

    async def create(self, manifest: Manifest) -> None:
        """Create an object, unless it stays between runs and is there already. Raises ``TargetError``."""
        key = (manifest.kind, manifest.namespace, manifest.name)
        stays = manifest.kind == "Node" or (manifest.kind == "Pod" and has_node(manifest))
        if stays:
            self._asked.add(key)
            if key in self._kept:
                if self._kept[key].raw == manifest.raw:
                    return
                await delete_object(self.transport, self._kept.pop(key))
        if manifest.kind == "Pod" and not stays:
            self.watch.announce([PodName(manifest.namespace, manifest.name)])
        try:
            await create_object(self.transport, manifest)
        except ApiError as error:
            raise TargetError(f"the API server refused {manifest.kind} {manifest.name}: {error}") from None
        (self._kept if stays else self._passing)[key] = manifest

    async def add_namespaces(self, names: Iterable[str]) -> None:
        """Create the namespaces that are missing."""
        for name in set(names) - self._namespaces:
            await ensure_empty_namespace(self.transport, name)
            self._namespaces.add(name)

    async def drop_unasked(self) -> None:
        """Remove objects of earlier runs that this run has not created again."""
        left = {key: each for key, each in self._kept.items() if key not in self._asked}
        await self._remove({key: each for key, each in left.items() if each.kind == "Pod"})
        await self._remove(left)
        for key in left:
            self._kept.pop(key, None)

    def begin_run(self) -> None:
        """Begin a run, which has asked for no objects yet."""
        self._asked.clear()

    async def remove_passing(self) -> None:
        """Remove objects that do not stay between runs, pods first, because pods use the others. Evicted pods count as
        gone."""
        pods = {key: each for key, each in self._passing.items() if key[0] == "Pod"}
        self.watch.forget(PodName(each.namespace, each.name) for each in pods.values())
        await self._remove(pods)
        await self._remove(self._passing)
        self._passing.clear()

    async def delete_pods(self, names: Iterable[PodName]) -> None:
        """Delete pods at once."""
        gone = list(names)
        self.watch.forget(gone)
        for namespace, name in gone:
            self._passing.pop(("Pod", namespace, name), None)

        async def delete(pod: PodName) -> None:
            await delete_pod(self.transport, pod)

        await in_parallel(delete, gone)

    async def forget_victims(self) -> None:
        """Forget pods that stayed until now and have been evicted, so that the next run creates them again."""
        present = {
            (pod.metadata.namespace, pod.metadata.name)
            async for page in pages(self.transport, PODS, _PAGE)
            for pod in page.items
        }
        for key in [key for key in self._kept if key[0] == "Pod" and (key[1], key[2]) not in present]:
            del self._kept[key]

    async def _remove(self, objects: dict[Key, Manifest]) -> None:
        async def delete(each: Manifest) -> None:
            await delete_object(self.transport, each)

        await in_parallel(delete, list(objects.values()))


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Placed(msgspec.Struct):
    spec: _Spec


def has_node(pod: Manifest) -> bool:
    """Return whether a pod names its node itself."""
    return bool(msgspec.json.decode(pod.raw, type=_Placed).spec.node_name)
