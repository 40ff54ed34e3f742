"""Events about AppGroups and NetworkTopologies that something is wrong with."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from poseidon.app_network.spec.keys import APP_GROUP_KIND
from poseidon.kube.api.collections import APP_GROUP_VERSION, TOPOLOGY_VERSION
from poseidon.kube.api.references import timestamp
from poseidon.kube.client.errors import ApiError
from poseidon.kube.client.transport import MERGE_PATCH
from poseidon.kube.write.write_behind import WriteBehind

if TYPE_CHECKING:
    from poseidon.app_network.proposals import Notice
    from poseidon.kube.watch.environment import Environment

_MAX_MESSAGE = 1024
_MAX_NAME = 230


class _Write(NamedTuple):
    notice: Notice
    at: float


class ObjectEvents:
    """Writes warnings behind bindings.

    The name of an event follows from what it says, so that saying the same again, also by another process, renews
    the event instead of adding one.
    """

    def __init__(
        self,
        environment: Environment,
        *,
        component: str,
        instance: str,
        wait_quiet: Callable[[], Awaitable[None]],
    ) -> None:
        self._transport = environment.transport
        self._component = component
        self._instance = instance
        self._wall = environment.wall
        self._queue: WriteBehind[_Write] = WriteBehind(
            "object event",
            self._perform,
            wait_quiet,
            metrics=environment.metrics,
            random=environment.random,
        )

    def warn(self, notice: Notice) -> None:
        """Tell people."""
        self._queue.submit((notice.uid, notice.reason), _Write(notice, self._wall()))

    async def run(self) -> None:
        """Write for ever."""
        await self._queue.run()

    async def wait_drained(self) -> None:
        """Wait until nothing waits."""
        await self._queue.wait_drained()

    async def _perform(self, write: _Write) -> None:
        body = self._body(write)
        path = f"/api/v1/namespaces/{write.notice.key.namespace}/events"
        try:
            await self._transport.post(path, msgspec.json.encode(body))
        except ApiError as error:
            if not error.already_exists:
                raise
            renewed = msgspec.json.encode({"lastTimestamp": body["lastTimestamp"]})
            await self._transport.patch(f"{path}/{body['metadata']['name']}", renewed, MERGE_PATCH)

    def _body(self, write: _Write) -> dict[str, Any]:
        key, uid, reason, message = write.notice
        said = hashlib.sha256(f"{uid}\0{reason}\0{message}".encode()).hexdigest()[:16]
        version = APP_GROUP_VERSION if key.kind == APP_GROUP_KIND else TOPOLOGY_VERSION
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{key.name[:_MAX_NAME]}.{said}", "namespace": key.namespace},
            "involvedObject": {
                "apiVersion": version,
                "kind": key.kind,
                "namespace": key.namespace,
                "name": key.name,
                "uid": uid,
            },
            "type": "Warning",
            "reason": reason,
            "message": message[:_MAX_MESSAGE],
            "action": "Reconciling",
            "count": 1,
            "firstTimestamp": timestamp(write.at),
            "lastTimestamp": timestamp(write.at),
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
        }
