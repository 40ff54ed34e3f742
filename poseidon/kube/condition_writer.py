"""The condition that tells people and autoscalers why a pod is not scheduled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from poseidon.kube.references import PodRef, timestamp
from poseidon.kube.transport import STRATEGIC_MERGE_PATCH, Transport
from poseidon.kube.write_behind import WriteBehind, WriteBehindOptions

if TYPE_CHECKING:
    from poseidon.kube.metrics import KubeMetrics


class _Write(NamedTuple):
    pod: PodRef
    message: str
    since: float | None


class ConditionWriter:
    """Writes ``PodScheduled=False`` with reason ``Unschedulable``, behind bindings.

    ``wall`` tells seconds since the epoch; ``wait_quiet`` returns once no binding waits.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        wait_quiet: Callable[[], Awaitable[None]],
        metrics: KubeMetrics,
        random: Random,
        wall: Callable[[], float],
        options: WriteBehindOptions | None = None,
    ) -> None:
        self._transport = transport
        self._wall = wall
        self._queue: WriteBehind[_Write] = WriteBehind(
            "condition", self._perform, wait_quiet, metrics=metrics, random=random, options=options
        )

    def unschedulable(self, pod: PodRef, message: str, *, was_unschedulable: bool) -> None:
        """Set the condition. With ``was_unschedulable`` only its message changes, and its time stays."""
        waiting = self._queue.waiting(pod.uid)
        if waiting is not None:
            was_unschedulable = waiting.since is None
        since = None if was_unschedulable else self._wall()
        self._queue.submit(pod.uid, _Write(pod, message, since))

    def withdraw(self, uid: str) -> None:
        """Forget a condition that still waits: the pod is being bound, or is gone."""
        self._queue.withdraw(uid)

    async def run(self) -> None:
        """Write for ever."""
        await self._queue.run()

    async def wait_drained(self) -> None:
        """Wait until nothing waits."""
        await self._queue.wait_drained()

    async def _perform(self, write: _Write) -> None:
        condition: dict[str, Any] = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": write.message,
        }
        if write.since is not None:
            condition["lastTransitionTime"] = timestamp(write.since)
        # The uid makes the server refuse the patch when a namesake has taken the pod's place.
        body = {"metadata": {"uid": write.pod.uid}, "status": {"conditions": [condition]}}
        path = f"/api/v1/namespaces/{write.pod.namespace}/pods/{write.pod.name}/status"
        await self._transport.patch(path, msgspec.json.encode(body), STRATEGIC_MERGE_PATCH)
