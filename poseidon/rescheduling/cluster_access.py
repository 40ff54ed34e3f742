"""Sends the requests of moves to the API server, and repeats failed requests if that may help."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

import msgspec

from poseidon.kube.api.collections import NODES, PODS
from poseidon.kube.api.decoding import MalformedObjectError, decode_object, decode_page
from poseidon.kube.api.metadata import KubeStruct, PodRef, format_time
from poseidon.kube.api.nodes import Node
from poseidon.kube.api.pods import Pod
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.kube.environment import Environment
from poseidon.kube.parsing.label_syntax import key_fault, value_fault
from poseidon.kube.write.evictor import is_budget_refusal, post_eviction
from poseidon.kube.write.write_retries import RetryOptions, Tries
from poseidon.pods.move_annotations import MOVE_TO, MOVE_UNTIL

T = TypeVar("T")
K = TypeVar("K", bound=KubeStruct)

_ITS_OWN_LABELS = frozenset(
    {
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
        "statefulset.kubernetes.io/pod-name",
    }
)
"""Labels whose values differ between pods of the same controller."""


FREED = "firmament.io/freed"
"""Annotation of a node that was cordoned so that all its pods can be moved away."""


NOT_FREED = "firmament.io/not-freed"
"""Annotation of a node that could not be freed; its value is the digest of the cluster's state at that time."""


class Eviction(NamedTuple):
    """Answer to an eviction request.

    ``refusal`` says why the pod stays, "" if it leaves; ``for_now`` says whether a budget may allow the eviction
    later.
    """

    refusal: str = ""
    for_now: bool = False


class ClusterAccess:
    """Reads and changes pods and nodes in order to move pods.

    Every method raises ``KubeError`` if no try gets an answer.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._transport = environment.transport

    async def pod(self, namespace: str, name: str) -> Pod | None:
        """Return the pod as it is now, or None if no readable pod has that name."""
        return await self._find(f"/api/v1/namespaces/{namespace}/pods/{name}", PODS.kind)

    async def node(self, name: str) -> Node | None:
        """Return the node as it is now, or None if no readable node has that name."""
        return await self._find(f"{NODES.path}/{name}", NODES.kind)

    async def pods_on(self, node: str) -> list[Pod]:
        """Return the pods that are assigned to a node, including those that have ended."""
        return await self._list(PODS.path, {"fieldSelector": f"spec.nodeName={node}"})

    async def siblings(self, pod: Pod) -> list[Pod]:
        """Return the pods of a pod's controller, including the pod itself if it still exists.

        The API server selects the pods by the labels of ``pod``. Labels with invalid syntax, which old objects may
        have, are not used.
        """
        metadata = pod.metadata
        same = [
            f"{key}={value}"
            for key, value in sorted(metadata.labels.items())
            if key not in _ITS_OWN_LABELS and not key_fault(key) and not value_fault(value)
        ]
        query = {"labelSelector": ",".join(same)} if same else {}
        found = await self._list(f"/api/v1/namespaces/{metadata.namespace}/pods", query)
        return [each for each in found if each.metadata.controller() == metadata.controller()]

    async def announce(self, pod: PodRef, node: str, until: float) -> None:
        """Annotate a pod: until a time (seconds since the epoch), its replacement is meant for ``node``."""
        await self.annotate(pod, {MOVE_TO: node, MOVE_UNTIL: format_time(until)})

    async def withdraw(self, pod: PodRef) -> None:
        """Remove the annotations of a planned move from a pod."""
        await self.annotate(pod, {MOVE_TO: None, MOVE_UNTIL: None})

    async def annotate(self, pod: PodRef, annotations: dict[str, str | None]) -> None:
        """Set annotations of a pod, and remove those whose values are None."""
        patch = msgspec.json.encode({"metadata": {"uid": pod.uid, "annotations": annotations}})
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        await self._try(lambda: self._transport.patch(path, patch, MERGE_PATCH))

    async def evict(self, pod: PodRef) -> Eviction:
        """Request the eviction of a pod; return the API server's answer."""
        try:
            await self._try(lambda: post_eviction(self._transport, pod))
        except ApiError as error:
            if error.not_found or error.replaced:
                return Eviction("the pod is gone")
            return Eviction(error.message, is_budget_refusal(error))
        return Eviction()

    async def cordon(self, node: str) -> None:
        """Cordon a node that is to be freed, and annotate it so."""
        await self._mark(node, {"unschedulable": True}, {FREED: "true", NOT_FREED: None})

    async def uncordon(self, node: str, failed_in: str = "") -> None:
        """Uncordon a node that was not freed.

        ``failed_in`` is the digest of the cluster's state in which freeing the node failed, or "".
        """
        annotations = {FREED: None, **({NOT_FREED: failed_in} if failed_in else {})}
        await self._mark(node, {"unschedulable": None}, annotations)

    async def _mark(
        self, node: str, spec: dict[str, bool | None], annotations: dict[str, str | None]
    ) -> None:
        patch = msgspec.json.encode({"metadata": {"annotations": annotations}, "spec": spec})
        await self._try(lambda: self._transport.patch(f"{NODES.path}/{node}", patch, MERGE_PATCH))

    async def _find(self, path: str, kind: type[K]) -> K | None:
        try:
            return decode_object(await self._try(lambda: self._transport.get(path)), kind)
        except MalformedObjectError:
            return None
        except ApiError as error:
            if error.not_found:
                return None
            raise

    async def _list(self, path: str, query: dict[str, str]) -> list[Pod]:
        raw = await self._try(lambda: self._transport.get(path, query))
        return list(decode_page(raw, PODS.kind).items)

    async def _try(self, ask: Callable[[], Awaitable[T]]) -> T:
        tries = Tries(RetryOptions(), self._environment.random)
        # The client's own retries take little time. A budget refuses evictions for longer, so the caller repeats the
        # eviction itself.
        return await tries.persist(
            ask, self._environment.sleep, lambda error: False if is_budget_refusal(error) else None
        )
