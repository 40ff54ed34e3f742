"""Writes about topology groups: what a ConfigMap says of its group, and labels of pods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from poseidon.kube.references import PodRef
from poseidon.kube.transport import MERGE_PATCH, Transport
from poseidon.kube.write_behind import WriteBehind, WriteBehindOptions

if TYPE_CHECKING:
    from poseidon.kube.metrics import KubeMetrics


class MapWrite(NamedTuple):
    """New values in the data and annotations of a ConfigMap, None for keys to be removed."""

    uid: str
    namespace: str
    name: str
    data: Mapping[str, str | None]
    annotations: Mapping[str, str | None]

    def over(self, earlier: MapWrite) -> MapWrite:
        """Return this write with what an ``earlier`` one of the same ConfigMap, which was not made, adds."""
        return self._replace(
            data={**earlier.data, **self.data}, annotations={**earlier.annotations, **self.annotations}
        )


class LabelWrite(NamedTuple):
    """New values of labels of a pod, None for those to be removed."""

    pod: PodRef
    labels: Mapping[str, str | None]

    def over(self, earlier: LabelWrite) -> LabelWrite:
        """Return this write with what an ``earlier`` one of the same pod, which was not made, adds."""
        return self._replace(labels={**earlier.labels, **self.labels})


class TopologyWriter:
    """Writes behind bindings, one merge patch for all that is new to an object.

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
        self._queue: WriteBehind[MapWrite | LabelWrite] = WriteBehind(
            "topology group", self._perform, wait_quiet, metrics=metrics, random=random, options=options
        )

    def describe(self, write: MapWrite) -> None:
        """Queue what is new to a ConfigMap."""
        waiting = self._queue.waiting(write.uid)
        self._queue.submit(write.uid, write.over(waiting) if isinstance(waiting, MapWrite) else write)

    def label(self, write: LabelWrite) -> None:
        """Queue what is new to a pod."""
        uid = write.pod.uid
        waiting = self._queue.waiting(uid)
        self._queue.submit(uid, write.over(waiting) if isinstance(waiting, LabelWrite) else write)

    async def run(self) -> None:
        """Write for ever."""
        await self._queue.run()

    async def wait_drained(self) -> None:
        """Wait until nothing waits."""
        await self._queue.wait_drained()

    async def _perform(self, write: MapWrite | LabelWrite) -> None:
        # The uid makes the server refuse the patch when a namesake has taken the object's place.
        if isinstance(write, MapWrite):
            metadata: dict[str, Any] = {"uid": write.uid}
            if write.annotations:
                metadata["annotations"] = dict(write.annotations)
            body: dict[str, Any] = {"metadata": metadata, "data": dict(write.data)}
            path = f"/api/v1/namespaces/{write.namespace}/configmaps/{write.name}"
        else:
            body = {"metadata": {"uid": write.pod.uid, "labels": dict(write.labels)}}
            path = f"/api/v1/namespaces/{write.pod.namespace}/pods/{write.pod.name}"
        await self._transport.patch(path, msgspec.json.encode(body), MERGE_PATCH)
