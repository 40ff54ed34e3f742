"""Writes about topology groups: what a ConfigMap says of its group, and labels of pods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from poseidon.kube.api.references import PodRef
from poseidon.kube.write.patch_writer import PatchWriter


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


class TopologyWriter(PatchWriter[MapWrite | LabelWrite]):
    """Writes behind bindings, one merge patch for all that is new to an object."""

    kind = "topology group"

    def describe(self, write: MapWrite) -> None:
        """Queue what is new to a ConfigMap."""
        waiting = self._queue.waiting(write.uid)
        self._queue.submit(write.uid, write.over(waiting) if isinstance(waiting, MapWrite) else write)

    def label(self, write: LabelWrite) -> None:
        """Queue what is new to a pod."""
        uid = write.pod.uid
        waiting = self._queue.waiting(uid)
        self._queue.submit(uid, write.over(waiting) if isinstance(waiting, LabelWrite) else write)

    def _patch(self, write: MapWrite | LabelWrite) -> tuple[str, Mapping[str, Any]]:
        if isinstance(write, MapWrite):
            metadata: dict[str, Any] = {"uid": write.uid}
            if write.annotations:
                metadata["annotations"] = dict(write.annotations)
            body: dict[str, Any] = {"metadata": metadata, "data": dict(write.data)}
            path = f"/api/v1/namespaces/{write.namespace}/configmaps/{write.name}"
        else:
            body = {"metadata": {"uid": write.pod.uid, "labels": dict(write.labels)}}
            path = f"/api/v1/namespaces/{write.pod.namespace}/pods/{write.pod.name}"
        return path, body
