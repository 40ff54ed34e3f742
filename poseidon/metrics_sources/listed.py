"""Reads the measured use of nodes and pods from a list of objects, such as manifests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from poseidon.kube.api.metadata import KubeStruct
from poseidon.kube.api.other_projects.metrics import NodeMetric, NodeMetrics, PodMetrics
from poseidon.metrics_sources.intake import ClusterView
from poseidon.metrics_sources.koordinator import reading
from poseidon.metrics_sources.metrics_server import node_reading, pod_reading
from poseidon.metrics_sources.options import MetricsServerOptions
from poseidon.metrics_sources.readings import PodReading, machine_sample
from poseidon.metrics_sources.samples import METRICS_SERVER, NODE_METRIC, LatestSamples


def take_listed(
    objects: Iterable[KubeStruct], samples: LatestSamples, view: ClusterView, now: float
) -> Iterator[str]:
    """Write the use that NodeMetric, NodeMetrics and PodMetrics objects state to ``samples``; ignore other objects.

    ``now`` is in seconds since the epoch. Without any PodMetrics, the use of pods is unknown. Yields a line for each
    fault; ``samples`` is complete once the iterator is exhausted.
    """
    given = list(objects)
    asked = any(isinstance(each, PodMetrics) for each in given)
    pods: dict[str, list[PodReading]] = {}
    for each in given:
        if isinstance(each, PodMetrics):
            metadata = each.metadata
            node = view.node_of(metadata.namespace, metadata.name)
            if node:
                used, faults = pod_reading(each)
                pods.setdefault(node, []).append(used)
                yield from (f"PodMetrics {metadata.namespace}/{metadata.name}: {fault}" for fault in faults)
    for each in given:
        if isinstance(each, NodeMetric):
            found, faults = reading(each, now)
            samples.put(NODE_METRIC, machine_sample(found, view.uid_of))
            yield from (f"NodeMetric {each.metadata.name}: {fault}" for fault in faults)
        elif isinstance(each, NodeMetrics):
            there = tuple(pods.get(each.metadata.name, ())) if asked else None
            interval = MetricsServerOptions().interval
            found, faults = node_reading(each, now, interval=interval, pods=there)
            samples.put(METRICS_SERVER, machine_sample(found, view.uid_of))
            yield from (f"NodeMetrics {each.metadata.name}: {fault}" for fault in faults)
