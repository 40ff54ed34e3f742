"""Prometheus metrics of the dashboard's server itself."""

from __future__ import annotations

from aiohttp import web
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

PATH = "/metrics"


class PageMetrics:
    """Prometheus metrics of requests and streams, added to ``registry``."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = CollectorRegistry() if registry is None else registry
        self.requests = Counter(
            "poseidon_ui_requests",
            "Requests answered, by route and status; streams count when they end.",
            ["route", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "poseidon_ui_request_duration_seconds",
            "Time to answer, by route, without streams.",
            ["route"],
            buckets=(0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0),
            registry=self.registry,
        )
        self.streams = Gauge("poseidon_ui_streams", "Pages that changes are sent to.", registry=self.registry)

    def count_answer(self, request: web.Request, status: int, seconds: float) -> None:
        """Count an answer by route and status, and add its seconds."""
        route = find_route_pattern(request)
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    async def handle(self, _: web.Request) -> web.Response:
        """Answer with all metrics of the server."""
        return web.Response(
            body=generate_latest(self.registry), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )


def find_route_pattern(request: web.Request) -> str:
    """Return the pattern of a request's path, without names of objects, so that the metric has few label values."""
    resource = request.match_info.route.resource
    if resource is None:
        return "unknown"
    return resource.canonical if resource.canonical.startswith("/api/") else "page"
