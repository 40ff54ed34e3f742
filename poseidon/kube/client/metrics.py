"""Defines metrics of the traffic with an API server."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class KubeMetrics:
    """The metrics that reflectors, binder and writers update, registered in ``registry``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter, Gauge, Histogram

        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        self.watch_events = counter(
            "poseidon_watch_events", "Objects received, by list or watch.", ["resource", "type"]
        )
        self.relists = counter(
            "poseidon_watch_relists", "Full lists begun, by cause.", ["resource", "reason"]
        )
        self.watch_errors = counter(
            "poseidon_watch_errors", "Failed lists and watches.", ["resource", "kind"]
        )
        self.reconciliations = counter(
            "poseidon_watch_reconciliations",
            "Comparisons of what is known with what the API server has.",
            ["resource", "result"],
        )
        self.drifted_objects = counter(
            "poseidon_watch_drifted_objects",
            "Objects that were known otherwise than the API server has them, and were listed anew.",
            ["resource"],
        )
        self.rejected_objects = counter(
            "poseidon_rejected_objects", "Objects that could not be decoded.", ["resource"]
        )
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
        self.writes_waiting = gauge(
            "poseidon_status_write_queue_length",
            "Events, conditions and other statuses that wait to be written.",
            ["kind"],
        )
        self.writes = counter(
            "poseidon_status_writes", "Events, conditions and other statuses written.", ["kind", "result"]
        )
