"""Creates objects in a cluster by plain requests, several at a time, and removes them completely.

Nothing here needs a kubelet or a controller: pods are deleted without a grace period, which nobody would end, and a
namespace that no controller empties is emptied and finalized.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

import msgspec

from benchmarks.declarative.templates import Manifest
from benchmarks.targets.base import TargetError
from poseidon.demo.binding_latency import PodName
from poseidon.kube.client.errors import ApiError, UnreachableError
from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.kube.client.transport import Transport

T = TypeVar("T")

POSTERS = 64
"""Number of requests under way at a time."""

PATHS = {
    "Node": "/api/v1/nodes",
    "Namespace": "/api/v1/namespaces",
    "PersistentVolume": "/api/v1/persistentvolumes",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "Pod": "/api/v1/namespaces/{}/pods",
    "PodGroup": "/apis/scheduling.k8s.io/v1alpha2/namespaces/{}/podgroups",
    "CompositePodGroup": "/apis/scheduling.k8s.io/v1alpha3/namespaces/{}/compositepodgroups",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "DeviceClass": "/apis/resource.k8s.io/v1/deviceclasses",
    "ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
    "ResourceClaim": "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims",
    "ResourceClaimTemplate": "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaimtemplates",
}
LATER_POD_GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/{}/podgroups"
"""Path of PodGroups that are in trees of groups."""
_STATUS_APART = frozenset({"PersistentVolume", "PersistentVolumeClaim"})
"""Kinds whose status an API server ignores when they are created."""

_AT_ONCE = msgspec.json.encode({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
_NO_FINALIZERS = msgspec.json.encode({"metadata": {"finalizers": None}})
_CONTENTS = ("Pod", "PersistentVolumeClaim", "PodGroup", "ResourceClaim", "ResourceClaimTemplate")
"""Kinds of objects that a benchmark's namespace holds, besides events."""

_EVENTS = "/api/v1/namespaces/{}/events"
_EMPTYING_SECONDS = 300.0
"""Seconds for one request that deletes a collection: many objects take longer than the usual limit."""

_PATIENCE_SECONDS, _POLL_SECONDS = 3.0, 0.2
"""Seconds to wait for conditions by a namespace controller, which writes them within moments if there is one."""


async def in_parallel(
    work: Callable[[T], Awaitable[None]], items: Iterable[T], posters: int = POSTERS
) -> None:
    """Run ``work`` for all items, ``posters`` at a time; raises the exceptions of ``work``."""
    rest = iter(items)

    async def keep_working() -> None:
        for each in rest:
            await work(each)

    await asyncio.gather(*(keep_working() for _ in range(posters)))


def path_of(manifest: Manifest) -> str:
    """Return the path of an object's collection. Raises ``TargetError`` for unsupported kinds."""
    path = PATHS.get(manifest.kind)
    if manifest.kind == "PodGroup" and b"scheduling.k8s.io/v1beta1" in manifest.raw:
        path = LATER_POD_GROUPS
    if path is None:
        raise TargetError(
            f"{manifest.kind} {manifest.name}: the harness creates no such objects in a given cluster"
        )
    return path.format(manifest.namespace)


async def create_object(transport: Transport, manifest: Manifest) -> None:
    """Create an object, and write its status if that needs a request of its own. Raises ``ApiError``."""
    path = path_of(manifest)
    await transport.post(path, manifest.raw)
    if manifest.kind in _STATUS_APART:
        status = msgspec.json.decode(manifest.raw).get("status")
        if status:
            body = msgspec.json.encode({"status": status})
            await transport.patch(f"{path}/{manifest.name}/status", body, MERGE_PATCH)


async def delete_object(transport: Transport, manifest: Manifest) -> None:
    """Delete an object at once; an object that is gone is no error. Raises ``ApiError``."""
    await _delete(transport, f"{path_of(manifest)}/{manifest.name}")


async def delete_pod(transport: Transport, pod: PodName) -> None:
    """Delete a pod at once; a pod that is gone is no error. Raises ``ApiError``."""
    await _delete(transport, f"{PATHS['Pod'].format(pod.namespace)}/{pod.name}")


async def _delete(transport: Transport, path: str) -> None:
    """Delete an object and remove its finalizers, which controllers would remove later."""
    try:
        left = json.loads(await transport.delete(path, _AT_ONCE))
        if left.get("metadata", {}).get("deletionTimestamp") and left.get("metadata", {}).get("finalizers"):
            await transport.patch(path, _NO_FINALIZERS, MERGE_PATCH)
    except ApiError as error:
        if not error.not_found:
            raise


async def remove_namespace(transport: Transport, name: str, at_most: float = 120.0) -> None:
    """Delete a namespace and wait until it is gone; without a controller, empty and finalize it.

    Raises ``KubeError``, and ``TargetError`` if it is still there after ``at_most`` seconds.
    """
    path = f"{PATHS['Namespace']}/{name}"
    # Delete pods first: a namespace controller would give them their grace period, which only kubelets end.
    await _empty(transport, PATHS["Pod"].format(name))
    await _delete(transport, path)
    begin = time.monotonic()
    while (found := await transport.find(path)) is not None:
        waited = time.monotonic() - begin
        if waited > at_most:
            raise TargetError(f"namespace {name} is still there {at_most:g} s after its deletion")
        if waited > _PATIENCE_SECONDS and not json.loads(found).get("status", {}).get("conditions"):
            await _finalize(transport, name, json.loads(found))
        await asyncio.sleep(_POLL_SECONDS)


async def ensure_empty_namespace(transport: Transport, name: str) -> None:
    """Create a namespace; a former one that is being deleted is removed first. Raises what ``remove_namespace``
    raises.
    """
    path = f"{PATHS['Namespace']}/{name}"
    found = await transport.find(path)
    if found is not None and json.loads(found).get("metadata", {}).get("deletionTimestamp"):
        await remove_namespace(transport, name)
        found = None
    if found is None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await transport.post(PATHS["Namespace"], msgspec.json.encode(body))


async def _finalize(transport: Transport, name: str, namespace: dict[str, Any]) -> None:
    for path in (*(PATHS[kind] for kind in _CONTENTS), _EVENTS):
        await _empty(transport, path.format(name))
    namespace["spec"] = {"finalizers": []}
    try:
        await transport.put(f"{PATHS['Namespace']}/{name}/finalize", msgspec.json.encode(namespace))
    except ApiError as error:
        if not (error.not_found or error.conflict):
            raise


async def _empty(transport: Transport, path: str, at_most: float = _EMPTYING_SECONDS) -> None:
    """Delete all objects of a collection at once; a collection that the server does not have is empty.

    A request that was not answered in time has deleted a part, so it is sent again. Raises ``KubeError``, also if
    none has been answered after ``at_most`` seconds.
    """
    begin = time.monotonic()
    while True:
        try:
            await transport.delete(path, _AT_ONCE)
        except ApiError as error:
            if error.not_found:
                return
            if not error.transient or time.monotonic() - begin > at_most:
                raise
        except UnreachableError:
            if time.monotonic() - begin > at_most:
                raise
        else:
            return
        await asyncio.sleep(_POLL_SECONDS)
