"""The section ``utilisation`` of the configuration: sources of measured use and how they are read. Times in seconds."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StrictBool,
    StrictStr,
    WithJsonSchema,
    model_validator,
)

from protos.conventions.configuration import PositiveDuration, Section
from protos.conventions.secrets import redact_address

Statistic: TypeAlias = Literal["avg", "p50", "p90", "p95", "p99", "std"]


def _mode(value: object) -> object:
    """Return "off" for False, which YAML reads from a bare ``off``."""
    return "off" if value is False else value


def _url(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(
            f"{redact_address(value)!r} is not an http(s) URL; write one such as http://prometheus:9090"
        )
    return value


Mode: TypeAlias = Annotated[
    Literal["auto", "off"], BeforeValidator(_mode), WithJsonSchema({"enum": ["auto", "off", False]})
]
Text: TypeAlias = Annotated[StrictStr, Field(min_length=1)]


class MetricsServerOptions(Section):
    """metrics.k8s.io: ``auto`` polls it every ``interval`` where it is served. ``pods``: read pods as well."""

    mode: Mode = "off"
    interval: PositiveDuration = 30.0
    pods: StrictBool = True


class PrometheusQuery(Section):
    """A query in PromQL whose vector has an element per node or per pod.

    Values are the present use, in cores for cpu, else in whole units; with a ``statistic``, which only nodes may have,
    the use over the ``window`` before.
    """

    query: Text
    resource: Text
    of: Literal["nodes", "pods"] = "nodes"
    statistic: Statistic | None = None
    window: PositiveDuration | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> PrometheusQuery:
        if (self.statistic is None) != (self.window is None):
            raise ValueError("statistic and window go together; give both or neither")
        if self.statistic is not None and self.of == "pods":
            raise ValueError(
                "statistics are read of nodes only; remove statistic and window, or write of: nodes"
            )
        return self


class PrometheusOptions(Section):
    """A Prometheus server, and the queries for it."""

    url: Annotated[StrictStr, AfterValidator(_url)]
    """Address below which ``/api/v1/query`` lies."""
    queries: tuple[PrometheusQuery, ...]
    """The queries."""
    interval: PositiveDuration = 30.0
    """Seconds between queries."""
    timeout: PositiveDuration = 10.0
    """Longest wait for an answer, in seconds."""
    token_file: StrictStr = ""
    """File with a bearer token, "" for none."""
    ca_file: StrictStr = ""
    """File with certificates to trust, "" for the system's."""
    node_label: Text = "node"
    """Label that names the node of an element."""
    namespace_label: Text = "namespace"
    """Label that names the namespace of an element."""
    pod_label: Text = "pod"
    """Label that names the pod of an element."""

    @model_validator(mode="after")
    def _says_what_nodes_use(self) -> PrometheusOptions:
        if not any(query.of == "nodes" and query.statistic is None for query in self.queries):
            raise ValueError(
                "no query asks for the present use of nodes; add one with of: nodes and no statistic"
            )
        return self


class UtilisationOptions(Section):
    """The sources in order of precedence: a node's reading comes from the first source with a current reading.

    ``node_metric`` ``auto``: follow Koordinator's NodeMetric objects where there are any.
    """

    node_metric: Mode = "auto"
    metrics_server: MetricsServerOptions = Field(default_factory=MetricsServerOptions)
    prometheus: PrometheusOptions | None = None
