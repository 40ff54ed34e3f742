"""Runs a collector of OpenTelemetry's protocol on the loopback interface, which keeps the spans that it receives."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from grpc import aio
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as pb_grpc


class Collector(pb_grpc.TraceServiceServicer):
    """Receives spans. ``spans``: service and span, in order of arrival; ``address``: value for ``--traces``."""

    def __init__(self) -> None:
        self.spans: list[tuple[str, Any]] = []
        self.address = ""

    async def Export(  # noqa: N802 - the name of the call
        self, request: pb.ExportTraceServiceRequest, _: Any
    ) -> pb.ExportTraceServiceResponse:
        """Keep the spans of a message."""
        for resource in request.resource_spans:
            named = {each.key: each.value.string_value for each in resource.resource.attributes}
            for scope in resource.scope_spans:
                self.spans += [(named["service.name"], span) for span in scope.spans]
        return pb.ExportTraceServiceResponse()

    def list_named(self, name: str) -> list[Any]:
        """Return the spans with a name."""
        return [span for _, span in self.spans if span.name == name]


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """Run a collector in this event loop."""
    server, collector = aio.server(), Collector()
    add: Any = pb_grpc.add_TraceServiceServicer_to_server
    add(collector, server)
    collector.address = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    try:
        yield collector
    finally:
        await server.stop(0.0)
