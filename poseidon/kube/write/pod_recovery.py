"""Creates refused pods again under their names, or deletes those that their controllers have replaced.

A name becomes free only when the old pod is deleted, so between deletion and creation only this process knows the
pod. Before deleting a pod, this module therefore checks everything that could prevent the creation; afterwards it
tries to create the pod until that succeeds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import msgspec

from poseidon.kube.api.metadata import PodRef
from poseidon.kube.client.backoff import Backoff
from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.environment import Environment
from poseidon.kube.write.evictor import post_eviction
from poseidon.kube.write.write_retries import RetryOptions, Tries, outrun

Object = dict[str, Any]
T = TypeVar("T")

_log = logging.getLogger(__name__)

_RETRIES = RetryOptions(attempts=5, backoff_initial=0.2, backoff_cap=5.0)
_STUBBORN = 60
"""The number of further tries if the server refuses (4xx) a creation that it allowed a moment ago."""
_PROBE_SUFFIX = "-"


class PodRecovery:
    """A writer that recreates or deletes pods that a kubelet refused, each in its own asyncio task.

    A recreated pod's ``annotation`` says how often it has been recreated.
    """

    def __init__(self, environment: Environment, annotation: str) -> None:
        self._transport = environment.transport
        self._annotation = annotation
        self._metrics = environment.metrics
        self._random = environment.random
        self._sleep = environment.sleep
        self._waiting: asyncio.Queue[Coroutine[Any, Any, None]] = asyncio.Queue()
        self._urgent = 0
        self._settled = asyncio.Event()
        self._settled.set()

    def recreate(self, pod: PodRef, times: int, delay: float) -> None:
        """Create a failed pod again after ``delay`` seconds, as its recreation number ``times``."""
        self._waiting.put_nowait(self._guard(pod, self._recreate(pod, times, delay)))

    def delete(self, pod: PodRef) -> None:
        """Delete a failed pod that its controller has replaced."""
        self._waiting.put_nowait(self._guard(pod, self._delete_replaced(pod)))

    async def wait_settled(self) -> None:
        """Wait until no pod is between deletion and creation."""
        await self._settled.wait()

    async def run(self) -> None:
        """Recover pods until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                group.create_task(await self._waiting.get())

    async def _guard(self, pod: PodRef, work: Awaitable[str]) -> None:
        """Run one recovery, count it, and make sure that its failure affects no other recovery."""
        try:
            result = await work
        except KubeError as error:
            result = "failed"
            _log.warning('refused pod cannot be recovered pod=%s error="%s"', pod, error)
        except Exception as error:  # noqa: BLE001 - whatever a manifest holds, it must not end the others
            result = "failed"
            _log.error('refused pod cannot be recovered pod=%s error="%r"', pod, error)
        self._metrics.writes.recoveries.labels(result).inc()

    async def _delete_replaced(self, pod: PodRef) -> str:
        return "deleted" if await self._delete(pod) else "obsolete"

    async def _recreate(self, pod: PodRef, times: int, delay: float) -> str:
        await self._sleep(delay)
        path = f"/api/v1/namespaces/{pod.namespace}/pods"
        found = await self._find(pod)
        if found is None:
            return "obsolete"
        obstacle = _obstacle(found)
        if obstacle:
            _log.warning('refused pod is left as it is pod=%s because="%s"', pod, obstacle)
            return "left"
        body = make_successor(found, {self._annotation: str(times)})
        # A creation under a temporary name checks rights, quotas and admission while the pod still exists.
        probe = {**body, "metadata": {**body["metadata"], "generateName": pod.name[:50] + _PROBE_SUFFIX}}
        del probe["metadata"]["name"]
        await self._persist(lambda: self._transport.post(f"{path}?dryRun=All", msgspec.json.encode(probe)))
        self._urgent += 1
        self._settled.clear()
        try:
            if not await self._delete(pod):
                return "obsolete"
            return await self._create(pod, path, body)
        finally:
            self._urgent -= 1
            if not self._urgent:
                self._settled.set()

    async def _find(self, pod: PodRef) -> Object | None:
        """Return the pod if it still exists, has failed, and is not being deleted."""
        raw = await self._persist(lambda: self._transport.find(pod.path))
        if raw is None:
            return None
        found: Object = msgspec.json.decode(raw)
        metadata = found["metadata"]
        current = metadata["uid"] == pod.uid and not metadata.get("deletionTimestamp")
        return found if current and (found.get("status") or {}).get("phase") == "Failed" else None

    async def _delete(self, pod: PodRef) -> bool:
        """Delete the pod with this uid; return False if the pod no longer exists.

        The deletion is an eviction, which no budget refuses for a failed pod. The HTTP library would send a DELETE
        twice if the answer is lost, and the second answer, 404, would not say which program deleted the pod.
        """
        lost = False

        async def attempt() -> bytes:
            nonlocal lost
            try:
                return await post_eviction(self._transport, pod, gracePeriodSeconds=0)
            except KubeError as error:
                lost = lost or not isinstance(error, ApiError) or error.transient
                raise

        try:
            await self._persist(attempt)
        except ApiError as error:
            if error.not_found or error.replaced:
                # If an answer was lost, this process itself may have deleted the pod.
                return lost and error.not_found
            raise
        return True

    async def _create(self, pod: PodRef, path: str, body: Object) -> str:
        """Create the pod, and try again until it exists.

        The pod's old object is deleted, so giving up would lose the pod.
        """
        encoded = msgspec.json.encode(body)
        backoff = Backoff(self._random, 0.2, 10.0)
        refusals = 0
        while True:
            try:
                await self._transport.post(path, encoded)
            except ApiError as error:
                if error.already_exists:
                    # Another pod has the name, or an earlier try succeeded although its answer was lost.
                    return "recreated"
                refusals += not error.transient and not error.outrun
                if refusals >= _STUBBORN:
                    _log.error(
                        'refused pod was deleted and cannot be created again pod=%s error="%s" manifest=%s',
                        pod,
                        error,
                        msgspec.json.encode(drop_environment(body)).decode(),
                    )
                    return "lost"
                await self._sleep(max(backoff.next(), error.retry_after or 0.0))
            except KubeError:
                await self._sleep(backoff.next())
            else:
                _log.info("refused pod created again pod=%s", pod)
                return "recreated"

    async def _persist(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Send a request, several times if the server fails. Raises ``KubeError``."""
        return await Tries(_RETRIES, self._random).persist(attempt, self._sleep, outrun)


def make_successor(pod: Object, annotations: dict[str, str]) -> Object:
    """Return the manifest of a pod as it was before any scheduler saw it, with added annotations.

    Fields that the API server or admission sets anew are left out: identity, node, status, resolved priority.
    """
    given = pod["metadata"]
    metadata: Object = {
        "name": given["name"],
        "namespace": given["namespace"],
        "annotations": {**(given.get("annotations") or {}), **annotations},
    }
    for name in ("labels", "ownerReferences"):
        if given.get(name):
            metadata[name] = given[name]
    left_out = ("nodeName", "priority", "preemptionPolicy", "ephemeralContainers")
    spec = {name: value for name, value in pod["spec"].items() if name not in left_out}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def drop_environment(pod: Object) -> Object:
    """Return a manifest for a log, without the containers' environment, which may contain secrets.

    The annotation in which kubectl keeps the whole manifest is left out too.
    """
    metadata, spec = dict(pod["metadata"]), dict(pod["spec"])
    notes = metadata.get("annotations") or {}
    metadata["annotations"] = {key: value for key, value in notes.items() if key != _LAST_APPLIED}
    for kind in ("containers", "initContainers"):
        if spec.get(kind):
            spec[kind] = [
                {key: value for key, value in each.items() if key not in ("env", "envFrom")}
                for each in spec[kind]
            ]
    return {**pod, "metadata": metadata, "spec": spec}


def _obstacle(pod: Object) -> str:
    """Return why a pod must not be created again, or ""."""
    metadata = pod["metadata"]
    if metadata.get("finalizers"):
        return "finalizers keep its name taken"
    for entry in metadata.get("managedFields") or ():
        fields = (entry.get("fieldsV1") or {}).get("f:spec") or {}
        # A binding leaves no entry in managedFields, so a manager of spec.nodeName has chosen the node itself.
        if "f:nodeName" in fields:
            return f"its node was chosen by {entry.get('manager', 'its creator')}"
    return ""
