"""Defines the bridge's metrics of the stream to the solver, of rounds, and of pods.

The metrics of pods say how many are bound or refused, and how long pods wait from their creation to their binding.
"""

from __future__ import annotations

from functools import partial
from itertools import accumulate, repeat
from operator import mul

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

import poseidon

_DOUBLING = tuple(accumulate(repeat(2.0, 19), mul, initial=0.01))
"""Histogram buckets in seconds, from 10 ms to 87 minutes: the buckets of kube-scheduler's scheduling duration."""
_ANSWERS = tuple(accumulate(repeat(2.0, 14), mul, initial=0.001))


class BridgeMetrics:
    """The metrics that the bridge's session and state update, registered in ``registry``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        histogram = partial(Histogram, registry=registry)
        ProcessCollector(registry=registry)
        build = gauge("poseidon_build_info", "Always 1; the label says which version runs.", ["version"])
        build.labels(poseidon.__version__).set(1)
        self.connected = gauge("poseidon_solver_connected", "1 while a stream is open.")
        self.refused = gauge(
            "poseidon_solver_refused",
            "1 while the solver turns this bridge away, as when another one drives the cluster.",
        )
        self.streams = counter("poseidon_solver_streams", "Streams opened.")
        self.stream_errors = counter("poseidon_solver_stream_errors", "Streams lost or refused.")
        self.distrusted = counter(
            "poseidon_solver_distrusted",
            "Streams ended because the solver asked again and again for what no honest one asks for.",
        )
        self.silences = counter(
            "poseidon_solver_silences", "Streams given up because the solver acknowledged nothing any more."
        )
        self.events_sent = counter("poseidon_solver_events", "Events sent to the solver.")
        self.rounds = counter("poseidon_rounds", "Rounds received.")
        self.deltas = counter("poseidon_deltas", "Deltas received.", ["kind"])
        self.deltas_refused = counter(
            "poseidon_deltas_refused", "Deltas of the solver that were not carried out.", ["kind", "reason"]
        )
        self.pods_bound = counter("poseidon_pods_bound", "Pods bound by this process.")
        self.scheduling = histogram(
            "poseidon_pod_scheduling_sli_duration_seconds",
            "Time from a pod's creation, which is known to the second, to its binding.",
            buckets=_DOUBLING,
        )
        self.admission_wait = histogram(
            "poseidon_queue_admission_wait_seconds",
            "Time from the creation of a suspended object in a queue, known to the second, to its being resumed.",
            buckets=_DOUBLING,
        )
        self.answers = histogram(
            "poseidon_solver_answer_duration_seconds",
            "Time from telling the solver of a pod to its placement; one pod of each message is followed.",
            buckets=_ANSWERS,
        )
        self.bindings_waiting = gauge("poseidon_bind_queue_length", "Bindings that wait or are in flight.")
        refused = "Pods of ours that kubelets refused after they had been bound."
        self.pods_refused = counter("poseidon_pods_refused", refused, ["reason"])
        kept = "Places kept for the replacements of moved pods, by what became of them."
        self.kept_places = counter("poseidon_kept_places", kept, ["outcome"])
        kept = "Rooms kept of pods of groups that restart, by what became of them."
        self.restart_rooms = counter("poseidon_restart_rooms", kept, ["outcome"])
        self.set_aside = counter(
            "poseidon_set_aside",
            "Times that something could not be dealt with and was set aside until it changes.",
            ["kind"],
        )
        self.leader = gauge("poseidon_leader", "1 while this process may change the cluster.")
        self.pending_pods = gauge("poseidon_pending_pods", "Pods that wait for a node.")
        self.nodes = gauge("poseidon_nodes", "Nodes known.")
