"""The condition that tells people and autoscalers why a pod is not scheduled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from poseidon.kube.api.references import PodRef, timestamp
from poseidon.kube.client.media_types import STRATEGIC_MERGE_PATCH
from poseidon.kube.write.patch_writer import PatchWriter
from poseidon.kube.write.write_behind import WriteBehindOptions

if TYPE_CHECKING:
    from poseidon.kube.client.metrics import KubeMetrics
    from poseidon.kube.client.transport import Transport


class _Write(NamedTuple):
    pod: PodRef
    message: str
    since: float | None
    reason: str


class ConditionWriter(PatchWriter[_Write]):
    """Writes ``PodScheduled=False`` with kube-scheduler's reasons, behind bindings.

    ``Unschedulable`` has autoscalers add nodes; ``SchedulerError``, for what has not been decided, does not.
    ``wall`` tells seconds since the epoch.
    """

    kind = "condition"
    format = STRATEGIC_MERGE_PATCH

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
        super().__init__(transport, wait_quiet=wait_quiet, metrics=metrics, random=random, options=options)
        self._wall = wall

    def unschedulable(
        self, pod: PodRef, message: str, *, was_unschedulable: bool, undecided: bool = False
    ) -> None:
        """Set the condition. With ``was_unschedulable`` its status was False already, and its time stays."""
        waiting = self._queue.waiting(pod.uid)
        if waiting is not None:
            was_unschedulable = waiting.since is None
        since = None if was_unschedulable else self._wall()
        self._queue.submit(
            pod.uid, _Write(pod, message, since, "SchedulerError" if undecided else "Unschedulable")
        )

    def withdraw(self, uid: str) -> None:
        """Forget a condition that still waits: the pod is being bound, or is gone."""
        self._queue.withdraw(uid)

    def _patch(self, write: _Write) -> tuple[str, Mapping[str, Any]]:
        condition: dict[str, Any] = {
            "type": "PodScheduled",
            "status": "False",
            "reason": write.reason,
            "message": write.message,
        }
        if write.since is not None:
            condition["lastTransitionTime"] = timestamp(write.since)
        body = {"metadata": {"uid": write.pod.uid}, "status": {"conditions": [condition]}}
        path = f"/api/v1/namespaces/{write.pod.namespace}/pods/{write.pod.name}/status"
        return path, body
