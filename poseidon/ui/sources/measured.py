"""Reads the measured use of nodes: from NodeMetric objects if there are any, else from metrics.k8s.io."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from poseidon.kube.api.decoding import MalformedObjectError, decode_object
from poseidon.kube.api.other_projects.metrics import MetricsList, NodeMetric, NodeMetrics
from poseidon.kube.client.errors import KubeError
from poseidon.metrics_sources.koordinator import reading
from poseidon.metrics_sources.metrics_server import NODES_PATH, node_reading

if TYPE_CHECKING:
    from poseidon.kube.api.resource import Change
    from poseidon.kube.client.transport import Transport
    from poseidon.metrics_sources.readings import NodeReading
    from poseidon.ui.cluster.store import ClusterStore

_INTERVAL = 30.0


class MeasuredUse:
    """Passes the measured use of nodes to the store. ``wall`` returns seconds since the epoch."""

    def __init__(self, store: ClusterStore, wall: Callable[[], float]) -> None:
        self._store = store
        self._wall = wall
        self._names: dict[str, str] = {}

    def node_metrics_changed(self, changes: Sequence[Change[NodeMetric]]) -> None:
        """Update the use of nodes whose NodeMetric objects have changed."""
        now = self._wall()
        gone = [self._names.pop(uid) for uid, found in changes if found is None and uid in self._names]
        self._names.update((uid, found.metadata.name) for uid, found in changes if found is not None)
        self._store.set_usage((name, None, now) for name in gone)
        self._take_readings(reading(found, now)[0] for _, found in changes if found is not None)

    async def ask(self, transport: Transport) -> None:
        """Read metrics.k8s.io if the API server has it, unless there are NodeMetric objects."""
        if self._names:
            return
        try:
            listed = decode_object(await transport.get(NODES_PATH), MetricsList).items or ()
            found = [decode_object(each, NodeMetrics) for each in listed]
        except (KubeError, MalformedObjectError):
            return
        now = self._wall()
        self._take_readings(node_reading(each, now, interval=_INTERVAL, pods=None)[0] for each in found)

    def take_listed(self, objects: Iterable[object]) -> None:
        """Read the objects about measured use in a list of objects."""
        now = self._wall()
        given = list(objects)
        self._take_readings(
            node_reading(each, now, interval=_INTERVAL, pods=None)[0]
            for each in given
            if isinstance(each, NodeMetrics)
        )
        self._take_readings(reading(each, now)[0] for each in given if isinstance(each, NodeMetric))

    def _take_readings(self, readings: Iterable[NodeReading]) -> None:
        self._store.set_usage((each.node, each.usage, each.time) for each in readings)
