"""Figures of the bridge."""

from __future__ import annotations

from itertools import accumulate, repeat
from operator import mul

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

import poseidon

_DOUBLING = tuple(accumulate(repeat(2.0, 19), mul, initial=0.01))
"""Seconds from 10 ms to 87 minutes: kube-scheduler's buckets for the same."""
_ANSWERS = tuple(accumulate(repeat(2.0, 14), mul, initial=0.001))


class BridgeMetrics:
    """The metrics of session and state, registered in ``registry``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        ProcessCollector(registry=registry)
        Gauge(
            "poseidon_build_info",
            "Always 1; the label says which version runs.",
            ["version"],
            registry=registry,
        ).labels(poseidon.__version__).set(1)
        self.connected = Gauge("poseidon_solver_connected", "1 while a stream is open.", registry=registry)
        self.refused = Gauge(
            "poseidon_solver_refused",
            "1 while the solver turns this bridge away, as when another one drives the cluster.",
            registry=registry,
        )
        self.streams = Counter("poseidon_solver_streams", "Streams opened.", registry=registry)
        self.stream_errors = Counter(
            "poseidon_solver_stream_errors", "Streams lost or refused.", registry=registry
        )
        self.distrusted = Counter(
            "poseidon_solver_distrusted",
            "Streams ended because the solver asked again and again for what no honest one asks for.",
            registry=registry,
        )
        self.silences = Counter(
            "poseidon_solver_silences",
            "Streams given up because the solver acknowledged nothing any more.",
            registry=registry,
        )
        self.events_sent = Counter("poseidon_solver_events", "Events sent to the solver.", registry=registry)
        self.rounds = Counter("poseidon_rounds", "Rounds received.", registry=registry)
        self.deltas = Counter("poseidon_deltas", "Deltas received.", ["kind"], registry=registry)
        self.deltas_refused = Counter(
            "poseidon_deltas_refused",
            "Deltas of the solver that were not carried out.",
            ["kind", "reason"],
            registry=registry,
        )
        self.pods_bound = Counter("poseidon_pods_bound", "Pods bound by this process.", registry=registry)
        self.scheduling = Histogram(
            "poseidon_pod_scheduling_sli_duration_seconds",
            "Time from a pod's creation, which is known to the second, to its binding.",
            buckets=_DOUBLING,
            registry=registry,
        )
        self.answers = Histogram(
            "poseidon_solver_answer_duration_seconds",
            "Time from telling the solver of a pod to its placement; one pod of each message is followed.",
            buckets=_ANSWERS,
            registry=registry,
        )
        self.bindings_waiting = Gauge(
            "poseidon_bind_queue_length", "Bindings that wait or are in flight.", registry=registry
        )
        self.pods_refused = Counter(
            "poseidon_pods_refused",
            "Pods of ours that kubelets refused after they had been bound.",
            ["reason"],
            registry=registry,
        )
        self.kept_places = Counter(
            "poseidon_kept_places",
            "Places kept for the replacements of moved pods, by what became of them.",
            ["outcome"],
            registry=registry,
        )
        self.set_aside = Counter(
            "poseidon_set_aside",
            "Times that something could not be dealt with and was set aside until it changes.",
            ["kind"],
            registry=registry,
        )
        self.leader = Gauge(
            "poseidon_leader", "1 while this process may change the cluster.", registry=registry
        )
        self.pending_pods = Gauge("poseidon_pending_pods", "Pods that wait for a node.", registry=registry)
        self.nodes = Gauge("poseidon_nodes", "Nodes known.", registry=registry)
