"""Counters of the traffic with an API server."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram


class KubeMetrics:
    """The metrics of reflectors, binder and writers, registered in ``registry``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.watch_events = Counter(
            "poseidon_watch_events",
            "Objects received, by list or watch.",
            ["resource", "type"],
            registry=registry,
        )
        self.relists = Counter(
            "poseidon_watch_relists", "Full lists begun, by cause.", ["resource", "reason"], registry=registry
        )
        self.watch_errors = Counter(
            "poseidon_watch_errors", "Failed lists and watches.", ["resource", "kind"], registry=registry
        )
        self.reconciliations = Counter(
            "poseidon_watch_reconciliations",
            "Comparisons of what is known with what the API server has.",
            ["resource", "result"],
            registry=registry,
        )
        self.drifted_objects = Counter(
            "poseidon_watch_drifted_objects",
            "Objects that were known otherwise than the API server has them, and were listed anew.",
            ["resource"],
            registry=registry,
        )
        self.rejected_objects = Counter(
            "poseidon_rejected_objects", "Objects that could not be decoded.", ["resource"], registry=registry
        )
        self.bind_duration = Histogram(
            "poseidon_bind_duration_seconds",
            "Time from the first POST of a binding to its outcome.",
            ["result"],
            registry=registry,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
        )
        self.bind_concurrency = Gauge(
            "poseidon_bind_concurrency", "Bindings that may be in flight at present.", registry=registry
        )
        self.bind_retries = Counter("poseidon_bind_retries", "Bindings posted again.", registry=registry)
        self.recoveries = Counter(
            "poseidon_pod_recoveries",
            "Refused pods that were created again or deleted, by outcome.",
            ["result"],
            registry=registry,
        )
        self.evictions = Counter(
            "poseidon_evictions",
            "Pods asked to make way, by whether they do.",
            ["result"],
            registry=registry,
        )
        self.writes_waiting = Gauge(
            "poseidon_status_write_queue_length",
            "Events, conditions and other statuses that wait to be written.",
            ["kind"],
            registry=registry,
        )
        self.writes = Counter(
            "poseidon_status_writes",
            "Events, conditions and other statuses written.",
            ["kind", "result"],
            registry=registry,
        )
