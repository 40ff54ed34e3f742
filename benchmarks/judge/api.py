"""Loads random clusters into an API server and removes them again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.judge.random_cluster.objects import NAMESPACES, Object, make_object
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.kube.client.transport import Transport

_WITH_STATUS = ("PersistentVolume", "PersistentVolumeClaim", "Pod")
"""Kinds whose status the API server ignores when they are created."""

_FOLDERS = {
    "Namespace": "/api/v1/namespaces",
    "Node": "/api/v1/nodes",
    "Pod": "/api/v1/namespaces/{}/pods",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "PersistentVolume": "/api/v1/persistentvolumes",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "CSINode": "/apis/storage.k8s.io/v1/csinodes",
    "CSIDriver": "/apis/storage.k8s.io/v1/csidrivers",
    "CSIStorageCapacity": "/apis/storage.k8s.io/v1/namespaces/{}/csistoragecapacities",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "RuntimeClass": "/apis/node.k8s.io/v1/runtimeclasses",
    "Lease": "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "ClusterQueue": "/apis/kueue.x-k8s.io/v1beta2/clusterqueues",
    "ResourceFlavor": "/apis/kueue.x-k8s.io/v1beta2/resourceflavors",
    "WorkloadPriorityClass": "/apis/kueue.x-k8s.io/v1beta2/workloadpriorityclasses",
    "LocalQueue": "/apis/kueue.x-k8s.io/v1beta2/namespaces/{}/localqueues",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "Event": "/api/v1/namespaces/{}/events",
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
    "ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
    "ResourceClaim": "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims",
    "ResourceClaimTemplate": "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaimtemplates",
}
_PLANNED = (
    *("Namespace", "Node", "Pod", "PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode"),
    *("PriorityClass", "RuntimeClass", "CSIDriver", "CSIStorageCapacity"),
)
_TAKEN_AWAY = (
    *("Pod", "Event", "PersistentVolumeClaim", "PersistentVolume", "Node", "CSINode", "StorageClass"),
    *("CSIDriver", "CSIStorageCapacity"),
)
_AT_ONCE = msgspec.json.encode({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
_WORKERS = 8


class Api:
    """Sends the judge's requests to an API server; other programs reach it by ``kubeconfig``."""

    def __init__(self, transport: Transport, kubeconfig: Path | None = None) -> None:
        self._transport = transport
        self.kubeconfig = kubeconfig

    async def prepare(self) -> None:
        """Create the namespaces."""
        for name, labels in NAMESPACES.items():
            namespace = make_object("Namespace", name)
            namespace["metadata"]["labels"] = labels
            await self.create([namespace])

    async def create(self, objects: Iterable[Object]) -> None:
        """Create objects, several at a time; existing ones stay. Raises ``ApiError``."""
        rest = iter(objects)

        async def work() -> None:
            for each in rest:
                await self._create(each)

        await asyncio.gather(*(work() for _ in range(_WORKERS)))

    async def _create(self, each: Object) -> None:
        try:
            await self._transport.post(_folder(each), msgspec.json.encode(each))
        except ApiError as error:
            if not error.conflict:
                raise
        if "status" in each and each["kind"] in _WITH_STATUS:
            await self.patch(each, {"status": each["status"]}, "/status")

    async def patch(self, each: Object, change: Object, part: str = "") -> None:
        """Change an object by a merge patch."""
        path = f"{_folder(each)}/{each['metadata']['name']}{part}"
        await self._transport.patch(path, msgspec.json.encode(change), MERGE_PATCH)

    async def get(self, each: Object) -> Object:
        """Return the present state of an object."""
        return _decode(await self._transport.get(f"{_folder(each)}/{each['metadata']['name']}"))

    async def delete(self, objects: Iterable[Object]) -> None:
        """Delete objects at once; objects that are gone are no error."""
        rest = iter(objects)

        async def work() -> None:
            for each in rest:
                try:
                    await self._transport.delete(f"{_folder(each)}/{each['metadata']['name']}", _AT_ONCE)
                except ApiError as error:
                    if not error.not_found:
                        raise

        await asyncio.gather(*(work() for _ in range(_WORKERS)))

    async def list_objects(self, kind: str) -> list[Object]:
        """Return all objects of a kind, of all namespaces."""
        path = _FOLDERS[kind].replace("/namespaces/{}", "")
        found = _decode(await self._transport.get(path))
        version = found["apiVersion"]
        return [dict(each, apiVersion=version, kind=kind) for each in found["items"]]

    async def everything(self) -> list[Object]:
        """Return all objects that a plan reads, as ``kubectl get`` would print them."""
        return [each for kind in _PLANNED for each in await self.list_objects(kind)]

    async def evict(self, pod: Object) -> None:
        """Request a pod's eviction. Raises ``ApiError`` if a budget forbids it."""
        metadata = {key: pod["metadata"][key] for key in ("name", "namespace")}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
        await self._transport.post(f"{_folder(pod)}/{metadata['name']}/eviction", msgspec.json.encode(body))

    async def wipe(self) -> None:
        """Delete all objects of a cluster except namespaces and priority classes."""
        for kind in _TAKEN_AWAY:
            if "{}" in _FOLDERS[kind]:
                for namespace in NAMESPACES:
                    await self._transport.delete(_FOLDERS[kind].format(namespace), _AT_ONCE)
            else:
                await self._transport.delete(_FOLDERS[kind], _AT_ONCE)


def _folder(each: Object) -> str:
    return _FOLDERS[each["kind"]].format(each["metadata"].get("namespace", ""))


def _decode(body: bytes) -> Any:
    return msgspec.json.decode(body)
