"""Reports measured use with a delay: as koordlets' NodeMetric objects, and as metrics-server in ``metrics.k8s.io``.

The two simulations do no input or output and read no clock: the caller passes the time, and gets back when to call
next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from poseidon.testbed.api_server.operations import Operations
from poseidon.testbed.api_server.requests import Target
from poseidon.testbed.controllers.controller_loop import Agenda
from poseidon.testbed.controllers.true_use import TrueUse, Use
from poseidon.testbed.objects import errors
from poseidon.testbed.objects.custom_resources import definition
from poseidon.testbed.objects.resources import CUSTOM_RESOURCE_DEFINITIONS, ResourceType, builtin
from poseidon.testbed.objects.store import decode

Object = dict[str, Any]

METRICS = tuple(
    replace(builtin("metrics.k8s.io/v1beta1", plural, kind, "", traits), singular="", verbs=("get", "list"))
    for plural, kind, traits in (("nodes", "NodeMetrics", "cluster"), ("pods", "PodMetrics", ""))
)
"""The resources that metrics-server serves: metrics of nodes and of pods."""

_WINDOW = "10s"

_LONGEST_PAUSE = 1.0
"""Seconds after which new nodes are noticed at the latest."""


@dataclass(frozen=True, slots=True)
class ReportOptions:
    """How nodes report their use. Times are in seconds.

    A node is measured every ``interval``, and clients see the report ``lag`` later. Nodes in ``missing`` never
    report, nodes in ``stale`` only once.
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


class Reporter(Protocol):
    """A simulated program that reports measured use."""

    def advance(self, now: float) -> float | None:
        """Do the work that is due at ``now`` (seconds since the epoch).

        The function returns when work is due next, or None for never.
        """
        ...


async def run_reporters(reporters: Sequence[Reporter], clock: Callable[[], float]) -> None:
    """Let ``reporters`` work at the times of ``clock`` (seconds since the epoch) until cancelled."""
    while True:
        now = clock()
        dues = [due for reporter in reporters if (due := reporter.advance(now)) is not None]
        pause = max(0.0, min(dues, default=now + _LONGEST_PAUSE) - now)
        await asyncio.sleep(min(pause, _LONGEST_PAUSE))


def node_metric_definition() -> Object:
    """Return Koordinator's CustomResourceDefinition, without its schema."""
    return definition(
        "slo.koordinator.sh",
        "v1alpha1",
        "nodemetrics",
        "NodeMetric",
        scope="Cluster",
        subresources={"status": {}},
    )


class KoordletSimulation:
    """Writes a NodeMetric object for each node, each measured at its own times.

    At first, the simulation creates the definition of the kind NodeMetric.
    """

    def __init__(self, operations: Operations, use: TrueUse, options: ReportOptions | None = None) -> None:
        self._store = operations.store
        self._use = use
        self._options = options or ReportOptions()
        made = node_metric_definition()
        name = made["metadata"]["name"]
        if operations.store.collection(CUSTOM_RESOURCE_DEFINITIONS.collection).get(name) is None:
            operations.create(CUSTOM_RESOURCE_DEFINITIONS, "", made)
        self._metrics = self._store.collection(name)
        self._measuring: Agenda[str] = Agenda()
        self._arriving: Agenda[tuple[str, Object]] = Agenda()
        self._known: set[str] = set()

    def advance(self, now: float) -> float | None:
        """Measure and report the nodes that are due at ``now`` (seconds since the epoch).

        Return when the next reports are due.
        """
        self._use.refresh()
        self._update_nodes(now)
        for time, node in self._measuring.due(now):
            if node not in self._known:
                continue
            self._arriving.put(time + self._options.lag, (node, _status(self._use, node, time)))
            if node not in self._options.stale:
                self._measuring.put(time + self._options.interval, node)
        for _, (node, status) in self._arriving.due(now):
            if node in self._known:
                self._report(node, status)
        dues = (self._measuring.next, self._arriving.next)
        return min((due for due in dues if due is not None), default=None)

    def _update_nodes(self, now: float) -> None:
        """Start to measure new nodes, spread over the interval, and stop to measure nodes that no longer exist."""
        nodes = set(self._use.nodes) - self._options.missing
        fresh = sorted(nodes - self._known)
        for index, node in enumerate(fresh):
            self._measuring.put(now + self._options.interval * index / len(fresh), node)
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
    """Return the status of a NodeMetric object as measured at ``time``."""
    pods = [
        {
            "namespace": pod.namespace,
            "name": pod.name,
            "priority": pod.priority,
            "podUsage": _resources(pod.use_at(time)),
        }
        for pod in use.pods_on(node)
    ]
    total, own = use.of_node(node, time), use.own_use(node)
    stamp = datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")
    return {
        "updateTime": stamp.replace("+00:00", "Z"),
        "nodeMetric": {"nodeUsage": _resources(total), "systemUsage": _resources(own)},
        "podsMetric": pods,
    }


def _resources(use: Use) -> Object:
    return {"resources": {"cpu": f"{use.cpu}m", "memory": str(use.memory)}}


class MetricsServer:
    """Reads the use of all nodes every ``interval`` seconds, and serves the result ``lag`` seconds later.

    The use of nodes in ``missing``, and of their pods, is not reported. For nodes in ``stale``, the first reading is
    served for ever. As with the real metrics-server, objects have no uid or version; clients can list and read them,
    but not watch or write them.
    """

    def __init__(self, use: TrueUse, options: ReportOptions) -> None:
        self._use = use
        self._options = options
        self._scraped: Agenda[dict[str, Object]] = Agenda()
        self._served: dict[str, Object] = {}
        self._next = float("-inf")

    def advance(self, now: float) -> float:
        """Read the use of nodes if that is due at ``now``, and serve readings older than the lag.

        The function returns when work is due next.
        """
        if now >= self._next:
            self._use.refresh()
            time = now if self._next == float("-inf") else self._next
            self._scraped.put(time + self._options.lag, self._scrape(time))
            self._next = time + self._options.interval
        for _, found in self._scraped.due(now):
            kept = self._options.stale & self._served.keys() & found.keys()
            self._served = {**found, **{node: self._served[node] for node in kept}}
        arriving = self._scraped.next
        return self._next if arriving is None else min(self._next, arriving)

    def _scrape(self, time: float) -> dict[str, Object]:
        """Return the use of nodes and of their pods at ``time``, by node."""
        stamp = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

        def measure(metadata: Object, **use: Any) -> Object:
            return {"metadata": metadata, "timestamp": stamp, "window": _WINDOW, **use}

        found: dict[str, Object] = {}
        for node in self._use.nodes:
            if node in self._options.missing:
                continue
            pods = {
                f"{pod.namespace}/{pod.name}": measure(
                    {"name": pod.name, "namespace": pod.namespace},
                    containers=[{"name": "all", "usage": _usage(pod.use_at(time))}],
                )
                for pod in self._use.pods_on(node)
            }
            use = measure({"name": node}, usage=_usage(self._use.of_node(node, time)))
            found[node] = {"nodes": {node: use}, "pods": pods}
        return found

    def answer(self, method: str, resource: ResourceType, target: Target) -> bytes:
        """Return the JSON text that answers a request for ``target``, a resource in ``METRICS``.

        Raises ``ApiError`` if the request is refused.
        """
        if target.subresource:
            raise errors.path_not_found()
        if method != "GET":
            raise errors.method_not_allowed()
        objects: dict[str, Object] = {}
        for found in self._served.values():
            objects |= found[target.plural]
        kind = {"kind": resource.kind, "apiVersion": resource.api_version}
        if target.name:
            one = objects.get(f"{target.namespace}/{target.name}" if resource.namespaced else target.name)
            if one is None:
                raise errors.not_found(resource.qualified, target.name)
            return msgspec.json.encode({**kind, **one})
        items = [
            each for each in objects.values() if target.namespace in ("", each["metadata"].get("namespace"))
        ]
        return msgspec.json.encode({**kind, "kind": f"{resource.kind}List", "metadata": {}, "items": items})


def _usage(use: Use) -> dict[str, str]:
    """Return amounts in the notation that kubelets use."""
    return {"cpu": f"{use.cpu * 1_000_000}n", "memory": f"{-(-use.memory // 1024)}Ki"}
