"""Which sources of measured use are on, and how they are asked. Times are in seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MetricsServerOptions:
    """metrics.k8s.io: asked every ``interval``, for pods as well if ``pods``."""

    interval: float = 30.0
    pods: bool = True


@dataclass(frozen=True, slots=True)
class PrometheusQuery:
    """One query in PromQL, whose vector has an element per node, or per pod if ``pods``.

    Values are in cores for cpu and whole units for other resources. ``statistic`` "" is the present use, else one of
    avg, p50, p90, p95 and p99 over the ``window`` before; nodes only.
    """

    query: str
    resource: str
    pods: bool = False
    statistic: str = ""
    window: float = 0.0


@dataclass(frozen=True, slots=True)
class PrometheusOptions:
    """A Prometheus server and what it is asked every ``interval``.

    ``url`` is that below which ``/api/v1/query`` lies. ``token_file`` holds a bearer token, ``ca_file`` certificates to
    trust; "" for none. The labels say where an element names its node, namespace and pod.
    """

    url: str
    queries: tuple[PrometheusQuery, ...]
    interval: float = 30.0
    timeout: float = 10.0
    token_file: str = ""
    ca_file: str = ""
    node_label: str = "node"
    namespace_label: str = "namespace"
    pod_label: str = "pod"


@dataclass(frozen=True, slots=True)
class UtilisationOptions:
    """The sources, by precedence: a node's reading comes from the first that has a current one of it.

    ``node_metric``: follow Koordinator's NodeMetric objects where there are any. The others are off if None.
    """

    node_metric: bool = True
    metrics_server: MetricsServerOptions | None = None
    prometheus: PrometheusOptions | None = None
