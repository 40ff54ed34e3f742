"""Writes about groups and preemptors: status and conditions of PodGroups, and the node that a pod waits for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from poseidon.kube.api.core import Condition
from poseidon.kube.api.pod_groups import PodGroupStatus
from poseidon.kube.api.references import PodRef
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.media_types import STRATEGIC_MERGE_PATCH
from poseidon.kube.write.patch_writer import PatchWriter

if TYPE_CHECKING:
    from poseidon.kube.client.transport import Transport

_INVALID = 422
_ALREADY_BOUND = "already bound to a node"
"""Words of kube-apiserver's validation of a pod's status."""


class _Nomination(NamedTuple):
    pod: PodRef
    node: str


class NominationWriter(PatchWriter[_Nomination]):
    """Writes ``status.nominatedNodeName`` of pods, the latest of each, behind bindings.

    A pod that has been bound meanwhile needs none, and the API server takes none for it.
    """

    kind = "nomination"

    def nominate(self, pod: PodRef, node: str) -> None:
        """Name the node where pods make way for this one, "" for none."""
        self._queue.submit(pod.uid, _Nomination(pod, node))

    def withdraw(self, uid: str) -> None:
        """A pod is bound: with that the API server has taken its nomination back."""
        self._queue.withdraw(uid)

    async def _perform(self, write: _Nomination) -> None:
        try:
            await super()._perform(write)
        except ApiError as error:
            if error.status != _INVALID or _ALREADY_BOUND not in error.message:
                raise

    def _patch(self, write: _Nomination) -> tuple[str, Mapping[str, Any]]:
        body = {"metadata": {"uid": write.pod.uid}, "status": {"nominatedNodeName": write.node or None}}
        path = f"/api/v1/namespaces/{write.pod.namespace}/pods/{write.pod.name}/status"
        return path, body


class GroupStatusWrite(NamedTuple):
    """A PodGroup's new status."""

    uid: str
    namespace: str
    name: str
    status: PodGroupStatus


class GroupStatusWriter(PatchWriter[GroupStatusWrite]):
    """Writes the status of PodGroups, the latest of each, behind bindings."""

    kind = "pod group"

    def submit(self, write: GroupStatusWrite) -> None:
        """Queue a status."""
        self._queue.submit(write.uid, write)

    def _patch(self, write: GroupStatusWrite) -> tuple[str, Mapping[str, Any]]:
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
        return path, body


class GroupConditionWrite(NamedTuple):
    """A condition of a PodGroup of Kubernetes itself."""

    uid: str
    namespace: str
    name: str
    condition: Condition


class GroupConditionWriter(PatchWriter[GroupConditionWrite]):
    """Writes a condition of Kubernetes' own PodGroups, the latest of each, behind bindings; others are left alone.

    ``served`` tells under which path all PodGroups are at present.
    """

    kind = "pod group"
    format: ClassVar[str] = STRATEGIC_MERGE_PATCH

    def __init__(self, served: Callable[[], str], transport: Transport, **more: Any) -> None:
        super().__init__(transport, **more)
        self._served = served

    def submit(self, write: GroupConditionWrite) -> None:
        """Queue a condition."""
        self._queue.submit(write.uid, write)

    def _patch(self, write: GroupConditionWrite) -> tuple[str, Mapping[str, Any]]:
        condition = {
            "type": write.condition.type,
            "status": write.condition.status,
            "reason": write.condition.reason,
            "message": write.condition.message,
            "lastTransitionTime": write.condition.last_transition_time,
        }
        body = {"metadata": {"uid": write.uid}, "status": {"conditions": [condition]}}
        version, _, plural = self._served().rpartition("/")
        return f"{version}/namespaces/{write.namespace}/{plural}/{write.name}/status", body
