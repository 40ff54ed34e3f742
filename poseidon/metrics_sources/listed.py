"""Measured use out of objects that are given all at once, as in manifests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.kube.api.metrics import NodeMetric, NodeMetrics, PodMetrics
from poseidon.metrics_sources.koordinator.node_metric import reading
from poseidon.metrics_sources.messages import machine_sample
from poseidon.metrics_sources.metrics_server.readings import node_reading, pod_reading
from poseidon.metrics_sources.options import MetricsServerOptions
from poseidon.metrics_sources.samples import SampleBook

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from poseidon.kube.api.core import KubeStruct
    from poseidon.metrics_sources.faults import Fault
    from poseidon.metrics_sources.readings import PodReading
    from poseidon.metrics_sources.view import ClusterView
    from protos.firmament.v1 import scheduler_pb2 as pb

_KOORDINATOR, _METRICS_API = "NodeMetric", "metrics.k8s.io"


class ListedUse:
    """What NodeMetric, NodeMetrics and PodMetrics objects say of the nodes of ``view``; other objects are passed over.

    ``now`` is in seconds since the epoch. NodeMetric takes precedence, as in a running bridge. ``warnings`` has a line
    for each fault.
    """

    def __init__(self, objects: Iterable[KubeStruct], view: ClusterView, now: float) -> None:
        self.warnings: list[str] = []
        self._view = view
        self._book = SampleBook((_KOORDINATOR, _METRICS_API))
        given = list(objects)
        pods = dict(self._pods(each for each in given if isinstance(each, PodMetrics)))
        for each in given:
            name = each.metadata.name if isinstance(each, NodeMetric | NodeMetrics) else ""
            if isinstance(each, NodeMetric):
                found, faults = reading(each, now)
                self._book.put(_KOORDINATOR, machine_sample(found, view.uid_of))
                self._warn(f"NodeMetric {name}", faults)
            elif isinstance(each, NodeMetrics):
                there = tuple(pods[name]) if name in pods else None
                interval = MetricsServerOptions().interval
                found, faults = node_reading(each, now, interval=interval, pods=there)
                self._book.put(_METRICS_API, machine_sample(found, view.uid_of))
                self._warn(f"NodeMetrics {name}", faults)

    def events(self) -> list[pb.Event]:
        """Return the samples of known nodes, once."""
        return self._book.take(self._view.knows_node)

    def _pods(self, given: Iterable[PodMetrics]) -> Iterator[tuple[str, list[PodReading]]]:
        """Yield what pods use, by node."""
        found: dict[str, list[PodReading]] = {}
        for each in given:
            metadata = each.metadata
            node = self._view.node_of(metadata.namespace, metadata.name)
            if node:
                used, faults = pod_reading(each)
                found.setdefault(node, []).append(used)
                self._warn(f"PodMetrics {metadata.namespace}/{metadata.name}", faults)
        yield from found.items()

    def _warn(self, subject: str, faults: Iterable[Fault]) -> None:
        self.warnings.extend(f"{subject}: {fault}" for fault in faults)
