"""Koordlets for all nodes at once: NodeMetric objects that report what is in use, late.

Free of I/O and of time, as the kubelets are: told the time, it tells when it wants to be called next.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from poseidon.testbed.controllers.true_use import RunningPod, TrueUse, Use
from poseidon.testbed.objects.resources import CUSTOM_RESOURCE_DEFINITIONS
from poseidon.testbed.objects.store import Store, decode

if TYPE_CHECKING:
    from poseidon.testbed.api_server.operations import Operations

Object = dict[str, Any]

GROUP, VERSION, PLURAL, KIND = "slo.koordinator.sh", "v1alpha1", "nodemetrics", "NodeMetric"

DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{PLURAL}.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Cluster",
        "names": {"plural": PLURAL, "singular": "nodemetric", "kind": KIND, "listKind": f"{KIND}List"},
        "versions": [
            {"name": VERSION, "served": True, "storage": True, "subresources": {"status": {}}},
        ],
    },
}
"""Koordinator's CustomResourceDefinition, without its schema."""


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """How nodes report. Times are in seconds.

    Every ``interval`` a node measures itself, at a moment of its own; the report is seen ``lag`` later. Nodes in
    ``missing`` never report, nodes in ``stale`` only once.
    """

    interval: float = 60.0
    lag: float = 0.0
    missing: frozenset[str] = frozenset()
    stale: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.interval <= 0 or self.lag < 0:
            raise ValueError(
                f"simulated reports: interval {self.interval} must be positive, lag {self.lag} not negative"
            )


class KoordletSimulation:
    """Measures nodes and writes their NodeMetric objects. The definition is created with it."""

    def __init__(self, operations: Operations, use: TrueUse, options: ReportOptions | None = None) -> None:
        self._store: Store = operations.store
        self._use = use
        self._options = options or ReportOptions()
        if operations.registry.find(GROUP, VERSION, PLURAL) is None:
            operations.create(
                CUSTOM_RESOURCE_DEFINITIONS, "", {**DEFINITION, "spec": dict(DEFINITION["spec"])}
            )
        self._metrics = self._store.collection(f"{PLURAL}.{GROUP}")
        self._measuring: list[tuple[float, str]] = []
        self._known: set[str] = set()
        self._arriving: list[tuple[float, int, str, Object]] = []
        self._sequence = 0

    def advance(self, now: float) -> float | None:
        """Measure and report what is due at ``now`` (seconds since the epoch); return when something is due next."""
        self._use.refresh()
        self._meet_nodes(now)
        while self._measuring and self._measuring[0][0] <= now:
            time, node = heapq.heappop(self._measuring)
            if node not in self._known:
                continue
            self._sequence += 1
            report = _status(self._use, node, time)
            heapq.heappush(self._arriving, (time + self._options.lag, self._sequence, node, report))
            if node not in self._options.stale:
                heapq.heappush(self._measuring, (time + self._options.interval, node))
        while self._arriving and self._arriving[0][0] <= now:
            _, _, node, status = heapq.heappop(self._arriving)
            if node in self._known:
                self._report(node, status)
        dues = [queue[0][0] for queue in (self._measuring, self._arriving) if queue]
        return min(dues, default=None)

    def _meet_nodes(self, now: float) -> None:
        """Begin with new nodes, spread over the interval so that they do not all report at once; drop those gone."""
        nodes = set(self._use.nodes) - self._options.missing
        fresh = sorted(nodes - self._known)
        for index, node in enumerate(fresh):
            heapq.heappush(self._measuring, (now + self._options.interval * index / len(fresh), node))
        for node in self._known - nodes:
            record = self._metrics.get(node)
            if record is not None:
                self._store.delete(self._metrics, record)
        self._known = nodes

    def _report(self, node: str, status: Object) -> None:
        record = self._metrics.get(node)
        if record is None:
            spec = {"metricCollectPolicy": {"reportIntervalSeconds": round(self._options.interval)}}
            self._store.create(self._metrics, {"metadata": {"name": node}, "spec": spec, "status": status})
        else:
            self._store.replace(self._metrics, record, {**decode(record), "status": status})


def _status(use: TrueUse, node: str, time: float) -> Object:
    """Return the status of a NodeMetric as measured at ``time``."""
    pods = [(pod, pod.use_at(time)) for pod in use.pods_on(node)]
    total = own = use.own_use(node)
    for _, used in pods:
        total = total.plus(used)
    return {
        "updateTime": datetime.fromtimestamp(time, UTC)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z"),
        "nodeMetric": {"nodeUsage": _resources(total), "systemUsage": _resources(own)},
        "podsMetric": [_pod(pod, used) for pod, used in pods],
    }


def _pod(pod: RunningPod, used: Use) -> Object:
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "priority": pod.priority,
        "podUsage": _resources(used),
    }


def _resources(use: Use) -> Object:
    return {"resources": {"cpu": f"{use.cpu}m", "memory": str(use.memory)}}
