"""Short-hand for what the tests of sources need."""

from __future__ import annotations

from typing import Any

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.other_projects.metrics import NodeMetric, NodeMetrics, PodMetrics

NOON = 1_767_268_800.0
NOON_TEXT = "2026-01-01T12:00:00Z"


def node_metric(name: str = "n1", *, interval: Any = None, **status: Any) -> NodeMetric:
    policy = {} if interval is None else {"reportIntervalSeconds": interval}
    return convert_object(
        {
            "metadata": {"name": name, "uid": f"metric-{name}"},
            "spec": {"metricCollectPolicy": policy},
            "status": {"updateTime": NOON_TEXT, **status},
        },
        NodeMetric,
    )


def resources(**amounts: Any) -> dict[str, Any]:
    return {"resources": amounts}


def node_metrics(name: str = "n1", **usage: Any) -> NodeMetrics:
    return convert_object(
        {"metadata": {"name": name}, "timestamp": NOON_TEXT, "window": "10.5s", "usage": usage}, NodeMetrics
    )


def pod_metrics(name: str, *containers: dict[str, Any], namespace: str = "default") -> PodMetrics:
    return convert_object(
        {
            "metadata": {"name": name, "namespace": namespace},
            "timestamp": NOON_TEXT,
            "containers": [{"name": f"c{i}", "usage": usage} for i, usage in enumerate(containers)],
        },
        PodMetrics,
    )


class Pods:
    """A cluster of nodes, and of pods (namespace, name) by node."""

    def __init__(self, nodes: tuple[str, ...] = ("n1", "n2"), **pods: str) -> None:
        self.nodes = set(nodes)
        self.pods = {("default", name): node for name, node in pods.items()}

    def knows_node(self, name: str) -> bool:
        return name in self.nodes

    def node_of(self, namespace: str, name: str) -> str:
        return self.pods.get((namespace, name), "")

    def uid_of(self, namespace: str, name: str, node: str) -> str:
        return f"uid-{name}" if node and self.node_of(namespace, name) == node else ""
