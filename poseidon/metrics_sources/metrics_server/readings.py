"""metrics.k8s.io (metrics-server): node and pod metrics become readings.

It gives the latest use only: no statistics over windows, no use of the system, no class of a pod.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.metrics_sources.amounts import add_amounts, amounts_in_use, go_duration
from poseidon.metrics_sources.koordinator.node_metric import measured_at
from poseidon.metrics_sources.readings import Amounts, NodeReading, PodReading

if TYPE_CHECKING:
    from poseidon.kube.api.metrics import NodeMetrics, PodMetrics
    from poseidon.metrics_sources.faults import Fault


def node_reading(
    metrics: NodeMetrics, now: float, *, interval: float, pods: tuple[PodReading, ...] | None
) -> tuple[NodeReading, tuple[Fault, ...]]:
    """Return what NodeMetrics say of a node, with what is known of its pods, and what in it makes no sense.

    ``interval`` is that between polls. The window over which the use was averaged may be longer, and counts then: what
    began within it is not fully in the figures.
    """
    faults: list[Fault] = []
    window = go_duration(metrics.window) or 0.0
    taken = NodeReading(
        node=metrics.metadata.name,
        time=measured_at(metrics.timestamp, "timestamp", now, faults),
        interval=max(interval, window),
        usage=amounts_in_use(metrics.usage, "usage", faults),
        pods=pods,
    )
    return taken, tuple(faults)


def pod_reading(metrics: PodMetrics) -> tuple[PodReading, tuple[Fault, ...]]:
    """Return the sum over a pod's containers, and what in it makes no sense."""
    faults: list[Fault] = []
    total: Amounts = {}
    for index, container in enumerate(metrics.containers):
        add_amounts(total, amounts_in_use(container.usage, f"containers[{index}].usage", faults))
    return PodReading(metrics.metadata.namespace, metrics.metadata.name, total), tuple(faults)
