"""Simulates the controllers of pods: creates a copy of each deleted pod that has a controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from poseidon.testbed.controllers.controller_loop import Follower
from poseidon.testbed.objects.errors import ApiError
from poseidon.testbed.objects.history import Record
from poseidon.testbed.objects.resources import PODS
from poseidon.testbed.objects.store import Store, decode

Object = dict[str, Any]

_KEEPS_NAMES = "StatefulSet"


class PodReplacement:
    """Replaces deleted pods in the order of their deletion, except pods without a controller.

    The new pod has the labels, owners and spec of the deleted pod, but no node and no annotations. The new pod's name
    begins with the name of its owner; if a StatefulSet owns the pod, it has the deleted pod's name. The class does no
    input or output and reads no clock.
    """

    def __init__(self, store: Store, create: Callable[[str, Object], object]) -> None:
        self._create = create
        self.follows = (store.collection(PODS.collection),)
        self._changes = Follower(*self.follows)
        self._changes.take_changes()
        self._created = 0
        self._replaced: set[str] = set()

    def advance(self, now: float) -> None:  # noqa: ARG002 - driven as what has to wait is
        """Replace the pods that have disappeared since the last call."""
        _, changes = self._changes.take_changes()
        for gone, record in changes:
            pod: Object = decode(record)
            owners = [each for each in pod["metadata"].get("ownerReferences", ()) if each.get("controller")]
            if owners and record.uid not in self._replaced and (gone or _is_replaced_early(pod, owners[0])):
                self._replaced.add(record.uid)
                self._replace(record, pod, owners[0])
            if gone:
                self._replaced.discard(record.uid)

    def _replace(self, record: Record, pod: Object, owner: Object) -> None:
        self._created += 1
        metadata: Object = {
            "name": record.name if owner["kind"] == _KEEPS_NAMES else f"{owner['name']}-r{self._created}",
            "namespace": record.namespace,
            "labels": pod["metadata"].get("labels", {}),
            "ownerReferences": pod["metadata"]["ownerReferences"],
        }
        spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        try:
            self._create(record.namespace, body)
        except ApiError:
            return  # Another pod already has the name.


def _is_replaced_early(pod: Object, owner: Object) -> bool:
    """Return whether a pod is replaced before it has ended, which is so if the new pod has another name."""
    return "deletionTimestamp" in pod["metadata"] and owner["kind"] != _KEEPS_NAMES
