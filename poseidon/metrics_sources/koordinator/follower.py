"""Follows NodeMetric objects, if the cluster has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.kube.api.metrics import NodeMetric
from poseidon.kube.api.resource import Resource
from poseidon.metrics_sources.koordinator.node_metric import reading

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from poseidon.kube.watch.changes import Change
    from poseidon.metrics_sources.intake import Intake

NODE_METRICS = Resource("nodemetrics", "/apis/slo.koordinator.sh/v1alpha1/nodemetrics", NodeMetric)


class NodeMetricHandler:
    """A reflector's handler. ``wall`` tells seconds since the epoch, to notice reports from the future."""

    def __init__(self, intake: Intake, wall: Callable[[], float]) -> None:
        self._intake = intake
        self._wall = wall
        self._names: dict[str, str] = {}
        self._uids: dict[str, str] = {}

    def on_changes(self, changes: Sequence[Change[NodeMetric]]) -> None:
        """Take objects as they are now."""
        now = self._wall()
        for change in changes:
            if change.object is None:
                name = self._names.pop(change.uid, "")
                # The late end of an earlier object does not remove its namesake.
                if self._uids.get(name) == change.uid:
                    del self._uids[name]
                    self._intake.gone(name)
                continue
            name = change.object.metadata.name
            if name:
                self._names[change.uid] = name
                self._uids[name] = change.uid
                self._intake.take(*reading(change.object, now))

    def on_synced(self) -> None:
        """Nothing follows from it here: whoever waits asks the reflector."""
