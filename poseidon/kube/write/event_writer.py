"""Writes events: about pods and their groups in kube-scheduler's words, and warnings about other objects.

Each pod has at most one event object per reason. When the pod's state changes again, that object's count, message and
time are updated. Neither states that change often nor restarts therefore flood a cluster with events. A warning's
name depends on its content, so a repeated warning, even from another process, renews the first one.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec

from poseidon.kube.api.event_reasons import EventReason
from poseidon.kube.api.metadata import ObjectRef, PodRef, format_time
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.kube.environment import Environment
from poseidon.kube.write.write_retries import WriteBehind, WriteBehindOptions

_ACTIONS = {
    EventReason.SCHEDULED: "Binding",
    EventReason.PREEMPTED: "Preempting",
    EventReason.MOVED: "Rescheduling",
}
_NORMAL = (EventReason.SCHEDULED, EventReason.PREEMPTED, EventReason.MOVED)
_MAX_MESSAGE = 1024
_MAX_NAME = 230
_REMEMBERED = 100_000


class _Write(NamedTuple):
    """An event to write. ``renews``: whether an event of this name exists, so that only its time changes."""

    name: str
    about: ObjectRef
    reason: EventReason
    message: str
    at: float
    renews: bool = False


class _Posted(NamedTuple):
    name: str
    times: int


class EventWriter(WriteBehind[_Write]):
    """A writer of events while no bindings wait; ``kind`` is the name of these writes in metrics.

    The events name ``component`` as their source, and ``instance`` as the reporting process. ``wait_quiet`` returns
    once no binding waits.
    """

    def __init__(
        self,
        environment: Environment,
        wait_quiet: Callable[[], Awaitable[None]],
        *,
        component: str,
        instance: str,
        options: WriteBehindOptions | None = None,
        kind: str = "event",
    ) -> None:
        super().__init__(kind, self._send, environment, wait_quiet, options)
        self._transport = environment.transport
        self._component = component
        self._instance = instance
        self._wall = environment.wall
        self._serial = int(self._wall() * 1e9)
        # The failure events of pods that still wait, oldest first. If an event is forgotten, a second event object is
        # created.
        self._posted: OrderedDict[str, _Posted] = OrderedDict()

    def write_scheduled(self, pod: PodRef, node: str) -> None:
        """Write that a pod has been bound."""
        self.withdraw((pod.uid, EventReason.FAILED_SCHEDULING))
        self.say(pod, EventReason.SCHEDULED, f"Successfully assigned {pod.namespace}/{pod.name} to {node}")

    def warn(self, about: ObjectRef, reason: EventReason, message: str) -> None:
        """Write a warning about an object, or renew an earlier equal one."""
        said = hashlib.sha256(f"{about.uid}\0{reason}\0{message}".encode()).hexdigest()[:16]
        name = f"{about.name[:_MAX_NAME]}.{said}"
        write = _Write(name, about, reason, message, self._wall(), renews=True)
        self.put((about.uid, reason), write)

    def withdraw_failure(self, uid: str) -> None:
        """Drop the unwritten event about a pod's failure, because the pod is being bound."""
        self.withdraw((uid, EventReason.FAILED_SCHEDULING))

    def say(self, about: ObjectRef | PodRef, reason: EventReason, message: str) -> None:
        """Write an event about a pod or a group, for example why it is pending. Callers report changes only."""
        if isinstance(about, PodRef):
            about = ObjectRef("v1", "Pod", about.uid, about.namespace, about.name)
        # The writer names the event, so that a second try after a lost answer creates no second event.
        self._serial += 1
        name = f"{about.name[:_MAX_NAME]}.{self._serial:x}"
        self.put((about.uid, reason), _Write(name, about, reason, message, self._wall()))

    async def _send(self, write: _Write) -> None:
        posted = self._posted.get(write.about.uid) if write.reason == EventReason.FAILED_SCHEDULING else None
        if posted is not None and await self._repeat(write, posted):
            return
        path = f"/api/v1/namespaces/{write.about.namespace}/events"
        try:
            await self._transport.post(path, msgspec.json.encode(self._body(write)))
        except ApiError as error:
            if not error.already_exists:
                raise
            if write.renews:
                renewed = msgspec.json.encode({"lastTimestamp": format_time(write.at)})
                await self._transport.patch(f"{path}/{write.name}", renewed, MERGE_PATCH)
        if write.reason == EventReason.FAILED_SCHEDULING:
            self._remember(write.about.uid, _Posted(write.name, 1))
        else:
            self._posted.pop(write.about.uid, None)

    async def _repeat(self, write: _Write, posted: _Posted) -> bool:
        """Update the event that was posted before; return False if the server has let it expire."""
        change = {
            "count": posted.times + 1,
            "lastTimestamp": format_time(write.at),
            "message": write.message[:_MAX_MESSAGE],
        }
        path = f"/api/v1/namespaces/{write.about.namespace}/events/{posted.name}"
        try:
            await self._transport.patch(path, msgspec.json.encode(change), MERGE_PATCH)
        except ApiError as error:
            if not error.not_found:
                raise
            return False
        self._remember(write.about.uid, _Posted(posted.name, posted.times + 1))
        return True

    def _remember(self, uid: str, posted: _Posted) -> None:
        self._posted[uid] = posted
        self._posted.move_to_end(uid)
        if len(self._posted) > _REMEMBERED:
            self._posted.popitem(last=False)

    def _body(self, write: _Write) -> dict[str, Any]:
        about, at = write.about, format_time(write.at)
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": write.name, "namespace": about.namespace},
            "involvedObject": {
                "apiVersion": about.api_version,
                "kind": about.kind,
                "namespace": about.namespace,
                "name": about.name,
                "uid": about.uid,
            },
            "type": "Normal" if write.reason in _NORMAL else "Warning",
            "reason": write.reason,
            "message": write.message[:_MAX_MESSAGE],
            "action": "Reconciling" if write.renews else _ACTIONS.get(write.reason, "Scheduling"),
            "count": 1,
            "firstTimestamp": at,
            "lastTimestamp": at,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
        }
