"""Writes patches while no bindings wait: conditions, statuses, nominations, labels, ConfigMaps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from poseidon.kube.api.collections import COMPOSITE_POD_GROUPS, NATIVE_POD_GROUPS
from poseidon.kube.api.event_reasons import ConditionType
from poseidon.kube.api.metadata import Condition, PodRef, format_time
from poseidon.kube.api.pod_groups import PodGroupStatus
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.media_types import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from poseidon.kube.environment import Environment
from poseidon.kube.write.write_retries import WriteBehind, WriteBehindOptions

_INVALID = 422
_ALREADY_BOUND = "already bound to a node"
"""Words of kube-apiserver's error if a bound pod is nominated; a bound pod needs no nomination."""


class Patch(NamedTuple):
    """A patch and its path.

    A patch contains the object's uid, so the server refuses it for other objects of the same name.
    """

    path: str
    body: Mapping[str, Any]
    format: str = MERGE_PATCH


class PatchWrite(Protocol):
    """A write about the object with this ``uid``."""

    @property
    def uid(self) -> str:
        """The uid of the object."""

    def patch(self) -> Patch:
        """Return the patch that carries out this write."""


class PatchWriter(WriteBehind[PatchWrite]):
    """A writer of patches of one ``kind`` (its name in metrics); waiting patches of one object are merged.

    ``wait_quiet`` returns once no binding waits.
    """

    def __init__(
        self,
        kind: str,
        environment: Environment,
        wait_quiet: Callable[[], Awaitable[None]],
        options: WriteBehindOptions | None = None,
    ) -> None:
        super().__init__(kind, self._send, environment, wait_quiet, options)
        self._transport = environment.transport

    def submit(self, write: PatchWrite) -> None:
        """Queue a write."""
        earlier = self.waiting(write.uid)
        self.put(write.uid, write if earlier is None else merge_writes(write, earlier))

    async def _send(self, write: PatchWrite) -> None:
        patch = self._patch(write)
        try:
            await self._transport.patch(patch.path, msgspec.json.encode(patch.body), patch.format)
        except ApiError as error:
            if error.status != _INVALID or _ALREADY_BOUND not in error.message:
                raise

    def _patch(self, write: PatchWrite) -> Patch:
        return write.patch()


# --- pods ---------------------------------------------------------------------------------------------------


class _Unscheduled(NamedTuple):
    pod: PodRef
    message: str
    reason: str
    since: float | None

    @property
    def uid(self) -> str:
        return self.pod.uid

    def patch(self) -> Patch:
        condition = {
            "type": ConditionType.POD_SCHEDULED,
            "status": "False",
            "reason": self.reason,
            "message": self.message,
        }
        if self.since is not None:
            condition["lastTransitionTime"] = format_time(self.since)
        return _conditions(f"{self.pod.path}/status", self.pod.uid, condition)


class ConditionWriter(PatchWriter):
    """A writer of ``PodScheduled=False`` with kube-scheduler's reasons, for people and autoscalers.

    Autoscalers add nodes for pods with reason ``Unschedulable``. Autoscalers do not react to ``SchedulerError``, the
    reason of pods at which no solver has looked.
    """

    def __init__(
        self,
        environment: Environment,
        wait_quiet: Callable[[], Awaitable[None]],
        options: WriteBehindOptions | None = None,
    ) -> None:
        super().__init__("condition", environment, wait_quiet, options)
        self._wall = environment.wall

    def unschedulable(
        self, pod: PodRef, message: str, *, was_unschedulable: bool, undecided: bool = False
    ) -> None:
        """Write that a pod is unschedulable.

        ``was_unschedulable``: whether the pod was unschedulable before, so that the condition keeps its transition
        time.
        """
        waiting = self.waiting(pod.uid)
        if waiting is not None:
            was_unschedulable = isinstance(waiting, _Unscheduled) and waiting.since is None
        reason = "SchedulerError" if undecided else "Unschedulable"
        self.submit(_Unscheduled(pod, message, reason, None if was_unschedulable else self._wall()))


class NominatedNodeWrite(NamedTuple):
    """A pod's new ``status.nominatedNodeName``: the node where other pods are evicted for it, "" for none."""

    pod: PodRef
    node: str

    @property
    def uid(self) -> str:
        """The uid of the pod."""
        return self.pod.uid

    def patch(self) -> Patch:
        """Return the nomination as a patch of the pod's status."""
        body = {"metadata": {"uid": self.pod.uid}, "status": {"nominatedNodeName": self.node or None}}
        return Patch(f"{self.pod.path}/status", body)


class LabelWrite(NamedTuple):
    """New values of a pod's labels, None for labels to remove."""

    pod: PodRef
    labels: Mapping[str, str | None]

    @property
    def uid(self) -> str:
        """The uid of the pod."""
        return self.pod.uid

    def merge_with(self, earlier: LabelWrite) -> LabelWrite:
        """Return this write merged with an ``earlier`` one to the same pod that has not been sent."""
        return self._replace(labels={**earlier.labels, **self.labels})

    def patch(self) -> Patch:
        """Return the write as a patch of the pod."""
        return Patch(self.pod.path, {"metadata": {"uid": self.pod.uid, "labels": dict(self.labels)}})


# --- groups -------------------------------------------------------------------------------------------------


class ConfigMapWrite(NamedTuple):
    """New values in the data and annotations of a ConfigMap, None for keys to remove."""

    uid: str
    namespace: str
    name: str
    data: Mapping[str, str | None]
    annotations: Mapping[str, str | None]

    def merge_with(self, earlier: ConfigMapWrite) -> ConfigMapWrite:
        """Return this write merged with an ``earlier`` one to the same ConfigMap that has not been sent."""
        return self._replace(
            data={**earlier.data, **self.data}, annotations={**earlier.annotations, **self.annotations}
        )

    def patch(self) -> Patch:
        """Return the write as a patch of the ConfigMap."""
        noted = {"annotations": dict(self.annotations)} if self.annotations else {}
        body = {"metadata": {"uid": self.uid, **noted}, "data": dict(self.data)}
        return Patch(f"/api/v1/namespaces/{self.namespace}/configmaps/{self.name}", body)


def merge_writes(write: Any, earlier: object) -> Any:
    """Return a write merged with an ``earlier`` one to the same object that has not been sent."""
    match write, earlier:
        case (ConfigMapWrite(), ConfigMapWrite()) | (LabelWrite(), LabelWrite()):
            return write.merge_with(earlier)
    return write


class GroupStatusWrite(NamedTuple):
    """A PodGroup's new status."""

    uid: str
    namespace: str
    name: str
    status: PodGroupStatus

    def patch(self) -> Patch:
        """Return the write as a patch of the PodGroup's status."""
        path = f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{self.namespace}/podgroups/{self.name}/status"
        status = {**_NO_STATUS, **msgspec.to_builtins(self.status)}
        return Patch(path, {"metadata": {"uid": self.uid}, "status": status})


_NO_STATUS = {"phase": "", "scheduled": 0, "running": 0, "succeeded": 0, "failed": 0}
"""Fields that are always written, because the old status may have other values."""


class GroupConditionWrite(NamedTuple):
    """A new condition of Kubernetes' own PodGroup or CompositePodGroup."""

    uid: str
    namespace: str
    name: str
    condition: Condition
    composite: bool = False

    def patch(self) -> Patch:
        """Return the write as a patch of the PodGroup's status, in the latest version."""
        return self.build_patch(NATIVE_POD_GROUPS.path)

    def build_patch(self, served: str) -> Patch:
        """Return the write as a patch of the group's status; ``served`` is the path at which PodGroups are served."""
        served = COMPOSITE_POD_GROUPS.path if self.composite else served
        version, _, plural = served.rpartition("/")
        condition = {"reason": "", "message": "", **msgspec.to_builtins(self.condition)}
        path = f"{version}/namespaces/{self.namespace}/{plural}/{self.name}/status"
        return _conditions(path, self.uid, condition)


class GroupConditionWriter(PatchWriter):
    """A writer of one condition of Kubernetes' own PodGroups, which keeps their other conditions.

    ``served`` returns the path at which the API server serves PodGroups.
    """

    def __init__(
        self,
        served: Callable[[], str],
        environment: Environment,
        wait_quiet: Callable[[], Awaitable[None]],
        options: WriteBehindOptions | None = None,
    ) -> None:
        super().__init__("pod group", environment, wait_quiet, options)
        self._served = served

    def _patch(self, write: PatchWrite) -> Patch:
        assert isinstance(write, GroupConditionWrite)
        return write.build_patch(self._served())


class QueueStatusWrite(NamedTuple):
    """A queue's new status; ``collection`` is the path of all queues of its kind."""

    uid: str
    collection: str
    namespace: str
    name: str
    status: Mapping[str, Any]

    def patch(self) -> Patch:
        """Return the patch of the queue's status under the path ``collection``."""
        return self.build_patch(self.collection)

    def build_patch(self, served: str) -> Patch:
        """Return the patch of the queue's status for the API version that is ``served``.

        ``served``: path of the collection in the version that the API server serves, such as ``/apis/GROUP/V1/QUEUES``.
        """
        version, _, plural = served.rpartition("/")
        within = f"/namespaces/{self.namespace}" if self.namespace else ""
        path = f"{version}{within}/{plural}/{self.name}/status"
        return Patch(path, {"metadata": {"uid": self.uid}, "status": dict(self.status)})


class QueueStatusWriter(PatchWriter):
    """A writer of queues' statuses; ``served`` returns the path at which the API server serves a collection."""

    def __init__(
        self,
        served: Callable[[str], str],
        environment: Environment,
        wait_quiet: Callable[[], Awaitable[None]],
        options: WriteBehindOptions | None = None,
    ) -> None:
        super().__init__("queue", environment, wait_quiet, options)
        self._served = served

    def _patch(self, write: PatchWrite) -> Patch:
        assert isinstance(write, QueueStatusWrite)
        return write.build_patch(self._served(write.collection))


def _conditions(path: str, uid: str, condition: Mapping[str, str]) -> Patch:
    """Return a patch that sets one condition and keeps all other conditions."""
    return Patch(
        path, {"metadata": {"uid": uid}, "status": {"conditions": [condition]}}, STRATEGIC_MERGE_PATCH
    )
