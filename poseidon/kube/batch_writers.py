"""Writes about groups and preemptors: a PodGroup's status, and the node that a pod waits for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from poseidon.kube.batch_objects import PodGroupStatus
from poseidon.kube.references import PodRef
from poseidon.kube.transport import MERGE_PATCH, Transport
from poseidon.kube.write_behind import WriteBehind, WriteBehindOptions

if TYPE_CHECKING:
    from poseidon.kube.metrics import KubeMetrics


class _Nomination(NamedTuple):
    pod: PodRef
    node: str


class NominationWriter:
    """Writes ``status.nominatedNodeName`` of pods, the latest of each, behind bindings.

    ``wait_quiet`` returns once no binding waits.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        wait_quiet: Callable[[], Awaitable[None]],
        metrics: KubeMetrics,
        random: Random,
        options: WriteBehindOptions | None = None,
    ) -> None:
        self._transport = transport
        self._queue: WriteBehind[_Nomination] = WriteBehind(
            "nomination", self._perform, wait_quiet, metrics=metrics, random=random, options=options
        )

    def nominate(self, pod: PodRef, node: str) -> None:
        """Name the node where pods make way for this one, "" for none."""
        self._queue.submit(pod.uid, _Nomination(pod, node))

    async def run(self) -> None:
        """Write for ever."""
        await self._queue.run()

    async def _perform(self, write: _Nomination) -> None:
        # The uid makes the server refuse the patch when a namesake has taken the pod's place.
        body = {"metadata": {"uid": write.pod.uid}, "status": {"nominatedNodeName": write.node or None}}
        path = f"/api/v1/namespaces/{write.pod.namespace}/pods/{write.pod.name}/status"
        await self._transport.patch(path, msgspec.json.encode(body), MERGE_PATCH)


class GroupStatusWrite(NamedTuple):
    """A PodGroup's new status."""

    uid: str
    namespace: str
    name: str
    status: PodGroupStatus


class GroupStatusWriter:
    """Writes the status of PodGroups, the latest of each, behind bindings."""

    def __init__(
        self,
        transport: Transport,
        *,
        wait_quiet: Callable[[], Awaitable[None]],
        metrics: KubeMetrics,
        random: Random,
        options: WriteBehindOptions | None = None,
    ) -> None:
        self._transport = transport
        self._queue: WriteBehind[GroupStatusWrite] = WriteBehind(
            "pod group", self._perform, wait_quiet, metrics=metrics, random=random, options=options
        )

    def submit(self, write: GroupStatusWrite) -> None:
        """Queue a status."""
        self._queue.submit(write.uid, write)

    async def run(self) -> None:
        """Write for ever."""
        await self._queue.run()

    async def wait_drained(self) -> None:
        """Wait until nothing waits."""
        await self._queue.wait_drained()

    async def _perform(self, write: GroupStatusWrite) -> None:
        status: dict[str, Any] = {
            "phase": write.status.phase,
            "scheduled": write.status.scheduled,
            "running": write.status.running,
            "succeeded": write.status.succeeded,
            "failed": write.status.failed,
        }
        if write.status.occupied_by:
            status["occupiedBy"] = write.status.occupied_by
        if write.status.schedule_start_time is not None:
            status["scheduleStartTime"] = write.status.schedule_start_time
        body = {"metadata": {"uid": write.uid}, "status": status}
        path = (
            f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{write.namespace}/podgroups/{write.name}/status"
        )
        await self._transport.patch(path, msgspec.json.encode(body), MERGE_PATCH)
