"""Defines metrics of writes to the API server: bindings, evictions, recoveries, events and statuses."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class WriteMetrics:
    """The metrics that binder, evictor and other writers update, registered in ``registry``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter, Gauge, Histogram

        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        self.bind_duration = Histogram(
            "poseidon_bind_duration_seconds",
            "Time from the first POST of a binding to its outcome.",
            ["result"],
            registry=registry,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
        )
        self.bind_concurrency = gauge(
            "poseidon_bind_concurrency", "Bindings that may be in flight at present."
        )
        self.bind_retries = counter("poseidon_bind_retries", "Bindings posted again.")
        self.recoveries = counter(
            "poseidon_pod_recoveries",
            "Refused pods that were created again or deleted, by outcome.",
            ["result"],
        )
        self.evictions = counter(
            "poseidon_evictions", "Pods asked to make way, by whether they do.", ["result"]
        )
        self.status_writes_waiting = gauge(
            "poseidon_status_write_queue_length",
            "Events, conditions and other statuses that wait to be written.",
            ["kind"],
        )
        self.status_writes = counter(
            "poseidon_status_writes", "Events, conditions and other statuses written.", ["kind", "result"]
        )
