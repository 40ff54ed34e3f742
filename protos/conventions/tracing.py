"""Sends traces by OpenTelemetry's protocol if a collector is named; the core has no code for traces.

What else there is to set (sampling, headers, certificates, attributes of the resource) is set by OpenTelemetry's own
environment variables, such as ``OTEL_TRACES_SAMPLER`` and ``OTEL_EXPORTER_OTLP_HEADERS``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from protos.conventions.secrets import redact_address

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

F = TypeVar("F", bound=Callable[..., Any])


_PATIENCE = 2.0
"""Seconds that sending some spans may take: so much later a program ends whose collector does not answer."""


class TracingError(ValueError):
    """Traces cannot be sent; the text says why and what to do."""


def tracing_option(command: F) -> F:
    """Add --traces to a command."""
    return click.option(
        "--traces",
        metavar="URL",
        help="Send traces to an OpenTelemetry collector (OTLP over gRPC), as http://HOST:4317; off by default.",
    )(command)


def tracer_of(url: str | None, service: str, version: str) -> Tracer | None:
    """Return a tracer that sends spans of ``service`` to ``url`` in the background; None if no URL is given.

    Remaining spans are sent when the process ends. If a collector does not answer, only spans are lost.
    Raises ``TracingError``.
    """
    if not url:
        return None
    scheme, separator, host = url.partition("://")
    if scheme not in ("http", "https") or not separator or not host:
        raise TracingError(
            f"--traces: {redact_address(url)!r} is no address of a collector; write http://HOST:4317"
        )
    try:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError:
        raise TracingError(
            "--traces: OpenTelemetry is not installed; pip install 'poseidon-firmament[tracing]'"
        ) from None
    provider = TracerProvider(resource=Resource.create({"service.name": service, "service.version": version}))
    exporter = OTLPSpanExporter(endpoint=url, insecure=scheme == "http", timeout=_PATIENCE)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider.get_tracer(service, version)
