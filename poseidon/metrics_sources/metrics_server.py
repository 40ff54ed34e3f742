"""Polls metrics.k8s.io, which metrics-server and other programs serve, and makes readings of the answers.

This API returns only the latest use: no statistics over windows, no use by the system, no class of a pod.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from poseidon.kube.api.decoding import MalformedObjectError, decode_metadata, decode_object
from poseidon.kube.api.metadata import KubeStruct
from poseidon.kube.api.other_projects.metrics import MetricsList, NodeMetrics, PodMetrics
from poseidon.kube.client.errors import UnreachableError
from poseidon.metrics_sources.amounts import add_amounts, amounts_in_use, parse_go_duration
from poseidon.metrics_sources.intake import Fault, Intake
from poseidon.metrics_sources.koordinator import parse_time
from poseidon.metrics_sources.readings import Amounts, NodeReading, PodReading

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from poseidon.kube.client.transport import Transport
    from poseidon.metrics_sources.options import MetricsServerOptions

T = TypeVar("T", bound=KubeStruct)

NODES_PATH = "/apis/metrics.k8s.io/v1beta1/nodes"
PODS_PATH = "/apis/metrics.k8s.io/v1beta1/pods"

_PAUSE_EVERY = 500
"""The number of items after which other tasks of the event loop may run."""


class MetricsServerSource:
    """The source that reads all nodes at each ``poll``, and pods if configured.

    ``wall`` returns seconds since the epoch.
    """

    def __init__(
        self, transport: Transport, intake: Intake, options: MetricsServerOptions, wall: Callable[[], float]
    ) -> None:
        self._transport = transport
        self._intake = intake
        self._options = options
        self._wall = wall

    async def poll(self) -> None:
        """Read the metrics once and add the readings to the intake; raise ``KubeError`` if that fails."""
        pods: dict[str, list[PodReading]] = {}
        if self._options.pods:
            async for pod in self._items(PODS_PATH, PodMetrics):
                metadata = pod.metadata
                node = self._intake.view.node_of(metadata.namespace, metadata.name)
                if node:
                    found, faults = pod_reading(pod)
                    self._intake.report(f"{metadata.namespace}/{metadata.name}", faults)
                    pods.setdefault(node, []).append(found)
        now = self._wall()
        async for node_metrics in self._items(NODES_PATH, NodeMetrics):
            name = node_metrics.metadata.name
            there = tuple(pods.get(name, ())) if self._options.pods else None
            if name:
                self._intake.add_reading(
                    *node_reading(node_metrics, now, interval=self._options.interval, pods=there)
                )
        self._intake.forget_gone_nodes()

    async def _items(self, path: str, kind: type[T]) -> AsyncIterator[T]:
        """Yield the items of a list; items that cannot be decoded are reported and left out."""
        raw = await self._transport.get(path)
        try:
            listed = decode_object(raw, MetricsList)
        except MalformedObjectError as error:
            raise UnreachableError(f"GET {path}: the answer is not a list: {error}") from error
        for index, item in enumerate(listed.items or ()):
            if index % _PAUSE_EVERY == _PAUSE_EVERY - 1:
                await asyncio.sleep(0)
            try:
                yield decode_object(item, kind)
            except MalformedObjectError as error:
                metadata = decode_metadata(item)
                name = "/".join(part for part in (metadata.namespace, metadata.name) if part)
                self._intake.report(name, [Fault("object", error.field, f"{error.problem}; it is left out")])


def node_reading(
    metrics: NodeMetrics, now: float, *, interval: float, pods: tuple[PodReading, ...] | None
) -> tuple[NodeReading, tuple[Fault, ...]]:
    """Return the reading of a node from its NodeMetrics and the readings of its pods, and the reading's faults.

    ``interval``: the seconds between polls. If the window over which the use was averaged is longer, the window
    counts instead, because the figures do not contain all use of pods that started within the window.
    """
    faults: list[Fault] = []
    window = parse_go_duration(metrics.window) or 0.0
    taken = NodeReading(
        node=metrics.metadata.name,
        time=parse_time(metrics.timestamp, "timestamp", now, faults),
        interval=max(interval, window),
        usage=amounts_in_use(metrics.usage, "usage", faults),
        pods=pods,
    )
    return taken, tuple(faults)


def pod_reading(metrics: PodMetrics) -> tuple[PodReading, tuple[Fault, ...]]:
    """Return a reading with the use summed over a pod's containers, and the reading's faults."""
    faults: list[Fault] = []
    total: Amounts = {}
    for index, container in enumerate(metrics.containers):
        add_amounts(total, amounts_in_use(container.usage, f"containers[{index}].usage", faults))
    return PodReading(metrics.metadata.namespace, metrics.metadata.name, total), tuple(faults)
