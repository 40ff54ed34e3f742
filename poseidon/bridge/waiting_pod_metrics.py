"""Counts for Prometheus how many pods wait for what, and which plugins keep pods unschedulable."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily

from poseidon.bridge.unschedulable_plugins import PLUGINS, plugins_of
from poseidon.lifecycle.phases import Phase, PodRecord

QUEUES = ("active", "unschedulable", "group", "claims", "priority_class", "set_aside", "leaving_room")


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
