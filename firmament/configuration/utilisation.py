"""The section ``utilisation`` of the configuration: where the bridge reads measured use."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictStr, model_validator

from firmament.configuration.sections import PositiveDuration, Section

Statistic: TypeAlias = Literal["avg", "p50", "p90", "p95", "p99", "std"]


def _mode(value: object) -> object:
    """Undo what YAML makes of a bare ``off``."""
    return "off" if value is False else value


def _url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"{value!r} is not an http(s) URL; write one such as http://prometheus:9090")
    return value


Mode: TypeAlias = Annotated[Literal["auto", "off"], BeforeValidator(_mode)]
Text: TypeAlias = Annotated[StrictStr, Field(min_length=1)]


class MetricsServerSection(Section):
    """metrics.k8s.io: ``auto`` polls it every ``interval`` where it is served. ``pods``: pods too, not only nodes."""

    mode: Mode = "off"
    interval: PositiveDuration = 30.0
    pods: StrictBool = True


class PrometheusQuerySection(Section):
    """One query, and what its answer means: use of ``resource`` by nodes, or by pods.

    Values are cores for cpu, else whole units. With a ``statistic`` they are that of the ``window`` before; nodes only.
    """

    query: Text
    resource: Text
    of: Literal["nodes", "pods"] = "nodes"
    statistic: Statistic | None = None
    window: PositiveDuration | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> PrometheusQuerySection:
        if (self.statistic is None) != (self.window is None):
            raise ValueError("statistic and window go together; give both or neither")
        if self.statistic is not None and self.of == "pods":
            raise ValueError(
                "statistics are read of nodes only; remove statistic and window, or write of: nodes"
            )
        return self


class PrometheusSection(Section):
    """A Prometheus server; ``url`` is that below which ``/api/v1/query`` lies."""

    url: Annotated[StrictStr, AfterValidator(_url)]
    queries: tuple[PrometheusQuerySection, ...]
    interval: PositiveDuration = 30.0
    timeout: PositiveDuration = 10.0
    token_file: StrictStr = ""
    ca_file: StrictStr = ""
    node_label: Text = "node"
    namespace_label: Text = "namespace"
    pod_label: Text = "pod"

    @model_validator(mode="after")
    def _says_what_nodes_use(self) -> PrometheusSection:
        if not any(query.of == "nodes" and query.statistic is None for query in self.queries):
            raise ValueError(
                "no query asks for the present use of nodes; add one with of: nodes and no statistic"
            )
        return self


class UtilisationSection(Section):
    """The sources of use, by precedence. ``node_metric`` ``auto``: Koordinator's NodeMetric objects, if any."""

    node_metric: Mode = "auto"
    metrics_server: MetricsServerSection = Field(default_factory=MetricsServerSection)
    prometheus: PrometheusSection | None = None
