"""Defines the bridge's metrics: its counters, and how many pods wait for what."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate, repeat
from operator import mul

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily

import poseidon
from poseidon.lifecycle.phases import Phase, PodRecord
from poseidon.lifecycle.unschedulable_plugins import PLUGINS, plugins_of

_DOUBLING = tuple(accumulate(repeat(2.0, 19), mul, initial=0.01))
"""Histogram buckets in seconds, from 10 ms to 87 minutes: the buckets of kube-scheduler's scheduling duration."""
_ANSWERS = tuple(accumulate(repeat(2.0, 14), mul, initial=0.001))

QUEUES = ("active", "unschedulable", "group", "claims", "priority_class", "set_aside", "leaving_room")


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
        self._deltas = counter("poseidon_deltas", "Deltas received.", ["kind"])
        self._deltas_by_kind: dict[str, Counter] = {}
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

    def count_deltas(self, kind: str, number: int) -> None:
        """Count deltas of one kind that the solver has sent."""
        series = self._deltas_by_kind.get(kind)
        if series is None:  # The series is looked up once, because that takes longer than counting.
            series = self._deltas_by_kind[kind] = self._deltas.labels(kind)
        series.inc(number)


def queue_of(record: PodRecord) -> str:
    """Return which of ``QUEUES`` a pod is in, "" if it waits for no decision of a scheduler.

    ``active``: the solver has not yet said why the pod gets no node; ``unschedulable``: the solver has said why.
    ``group``, ``claims``, ``priority_class``: the bridge sends the pod to the solver only when these exist.
    ``set_aside``: the bridge does not send the pod at all. ``leaving_room``: the pod has a node, but other pods must
    leave that node first.
    """
    if record.phase is Phase.WAITING:
        return "leaving_room"
    if not record.schedulable or record.place:
        return ""
    if record.fault:
        return "set_aside"
    held = (
        ("priority_class", record.priority_wait),
        ("group", record.group_wait),
        ("claims", record.claims_wait),
    )
    for queue, wait in held:
        if wait:
            return queue
    return "unschedulable" if record.message else "active"


class QueueDepths:
    """A collector for Prometheus that counts ``records`` when Prometheus scrapes, from any thread."""

    def __init__(self, records: Callable[[], Iterable[PodRecord]]) -> None:
        self._records = records

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metrics without values."""
        yield from self._families()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the number of pods in each queue, and how many pods each plugin's reasons keep unschedulable."""
        counts: collections.Counter[str] = collections.Counter()
        plugins: collections.Counter[str] = collections.Counter()
        for record in self._records():
            queue = queue_of(record)
            counts[queue] += 1
            if queue == "unschedulable":
                plugins.update(plugins_of(record.message))
        queues, unschedulable = self._families()
        for queue in QUEUES:
            queues.add_metric([queue], counts[queue])
        for plugin in PLUGINS:
            unschedulable.add_metric([plugin], plugins[plugin])
        yield queues
        yield unschedulable

    @staticmethod
    def _families() -> tuple[GaugeMetricFamily, GaugeMetricFamily]:
        queues = "Pods that wait, by what they wait for."
        unschedulable = (
            "Unschedulable pods, by the plugins that their messages name; a pod may count for several."
        )
        return (
            GaugeMetricFamily("poseidon_queue_pods", queues, labels=["queue"]),
            GaugeMetricFamily("poseidon_unschedulable_pods", unschedulable, labels=["plugin"]),
        )
