"""Defines objects that report measured use of nodes and pods.

NodeMetric follows ``slo.koordinator.sh/v1alpha1``; NodeMetrics and PodMetrics follow ``metrics.k8s.io/v1beta1``.
Amounts may have any type, so that the reader can drop a single odd amount and keep the rest of the object.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw, field

from poseidon.kube.api.metadata import Integer, KubeStruct, ObjectMeta

# --- slo.koordinator.sh -------------------------------------------------------------------------------------


class ResourceMap(KubeStruct, frozen=True):
    """Amounts by resource. Devices are not read."""

    resources: dict[str, Any] = field(default_factory=dict)


class AggregatedUsage(KubeStruct, frozen=True):
    """Statistics over one time window: ``usage`` by statistic ("avg", "p50", ...); ``duration`` in Go's format."""

    duration: str = ""
    usage: dict[str, ResourceMap] = field(default_factory=dict)


class NodeMetricInfo(KubeStruct, frozen=True):
    """Measured use of a node; ``system_usage`` is the part that belongs to neither pods nor host applications."""

    node_usage: ResourceMap = ResourceMap()
    aggregated_node_usages: tuple[AggregatedUsage | None, ...] = ()
    system_usage: ResourceMap = ResourceMap()


class PodMetricInfo(KubeStruct, frozen=True):
    """Measured use of one pod; ``priority`` is its Koordinator priority class, such as "koord-prod"."""

    namespace: str = ""
    name: str = ""
    priority: str = ""
    pod_usage: ResourceMap = ResourceMap()


class CollectPolicy(KubeStruct, frozen=True):
    """How often koordlet, Koordinator's agent on nodes, is to report."""

    report_interval_seconds: Integer | None = None


class NodeMetricSpec(KubeStruct, frozen=True):
    """Spec of a NodeMetric: the settings of koordlet."""

    metric_collect_policy: CollectPolicy = CollectPolicy()


class NodeMetricStatus(KubeStruct, frozen=True):
    """Status of a NodeMetric: koordlet's report. ``node_metric`` is None until koordlet has measured something."""

    update_time: str | None = None
    node_metric: NodeMetricInfo | None = None
    pods_metric: tuple[PodMetricInfo | None, ...] = ()


class NodeMetric(KubeStruct, frozen=True):
    """slo.koordinator.sh NodeMetric; its name is that of its node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeMetricSpec = NodeMetricSpec()
    status: NodeMetricStatus = NodeMetricStatus()


# --- metrics.k8s.io -----------------------------------------------------------------------------------------


class MetricsList(KubeStruct, frozen=True):
    """A list of NodeMetrics or PodMetrics, whose items are left encoded."""

    items: tuple[Raw, ...] | None = None


class NodeMetrics(KubeStruct, frozen=True):
    """metrics.k8s.io NodeMetrics: use of a node, averaged over the ``window`` that ended at ``timestamp``."""

    metadata: ObjectMeta = ObjectMeta()
    timestamp: str | None = None
    window: str = ""
    usage: dict[str, Any] = field(default_factory=dict)


class ContainerMetrics(KubeStruct, frozen=True):
    """Use of one container."""

    name: str = ""
    usage: dict[str, Any] = field(default_factory=dict)


class PodMetrics(KubeStruct, frozen=True):
    """metrics.k8s.io PodMetrics: use of each container of a pod."""

    metadata: ObjectMeta = ObjectMeta()
    timestamp: str | None = None
    window: str = ""
    containers: tuple[ContainerMetrics, ...] = ()


# --- Prometheus ---------------------------------------------------------------------------------------------


class Series(KubeStruct, frozen=True):
    """One element of Prometheus' instant vector: labels, and a sample (seconds since the epoch, value as text)."""

    metric: dict[str, str] = field(default_factory=dict)
    value: tuple[float, str] | None = None


class QueryData(KubeStruct, frozen=True):
    """The result of a Prometheus query. Only vectors are read."""

    result_type: str = ""
    result: tuple[Series, ...] = ()


class QueryAnswer(KubeStruct, frozen=True):
    """The answer of Prometheus' ``/api/v1/query``."""

    status: str = ""
    data: QueryData = QueryData()
    error: str = ""
