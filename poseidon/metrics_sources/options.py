"""Defines the section ``utilisation`` of the configuration: the sources of measured use; times are in seconds."""

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

from protos.configuration.sections import PositiveDuration, Section
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
    """The settings for metrics.k8s.io, which ``auto`` polls every ``interval``; ``pods``: also read pods."""

    mode: Mode = "off"
    interval: PositiveDuration = 30.0
    pods: StrictBool = True


class PrometheusQuery(Section):
    """A query in PromQL whose vector has one element for each node or each pod.

    The values are the present use, in cores for cpu, in whole units for other resources. With a ``statistic``, which
    only queries of nodes may have, the values are that statistic of the use over the last ``window``.
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
    """The URL of the server, to which ``/api/v1/query`` is added."""
    queries: tuple[PrometheusQuery, ...]
    """The queries to send to the server."""
    interval: PositiveDuration = 30.0
    """The seconds between two polls."""
    timeout: PositiveDuration = 10.0
    """The longest time to wait for an answer, in seconds."""
    token_file: StrictStr = ""
    """The path of a file with a bearer token, "" for none."""
    ca_file: StrictStr = ""
    """The path of a file with certificates to trust, "" for the system's certificates."""
    node_label: Text = "node"
    """The label that names the node of an element."""
    namespace_label: Text = "namespace"
    """The label that names the namespace of an element."""
    pod_label: Text = "pod"
    """The label that names the pod of an element."""

    @model_validator(mode="after")
    def _says_what_nodes_use(self) -> PrometheusOptions:
        if not any(query.of == "nodes" and query.statistic is None for query in self.queries):
            raise ValueError(
                "no query asks for the present use of nodes; add one with of: nodes and no statistic"
            )
        return self


class UtilisationOptions(Section):
    """The sources in order of precedence: a node's reading comes from the first source with a current reading.

    ``node_metric`` ``auto``: watch Koordinator's NodeMetric objects if the API server serves them.
    """

    node_metric: Mode = "auto"
    metrics_server: MetricsServerOptions = Field(default_factory=MetricsServerOptions)
    prometheus: PrometheusOptions | None = None
