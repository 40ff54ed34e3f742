"""How many pods wait, by what they wait for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from prometheus_client.core import GaugeMetricFamily

from poseidon.lifecycle.phases import Phase

if TYPE_CHECKING:
    from poseidon.lifecycle.phases import PodRecord

QUEUES = ("active", "unschedulable", "group", "claims", "priority_class", "set_aside", "leaving_room")


def queue_of(record: PodRecord) -> str:
    """Return which queue a pod is in, "" for one that waits for nothing that a scheduler decides.

    ``active``: the solver has not said yet why it gets no node; ``unschedulable``: it has. ``group``, ``claims``,
    ``priority_class``: it is not offered before these are there, ``set_aside``: not at all. ``leaving_room``: it has a
    node, where others are to go first.
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
    """A collector of Prometheus': looks at every one of ``records`` when it is asked, from whichever thread."""

    def __init__(self, records: Callable[[], Iterable[PodRecord]]) -> None:
        self._records = records

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Yield what it collects, without looking."""
        yield self._family()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the depths of all queues."""
        counts = Counter(map(queue_of, self._records()))
        family = self._family()
        for queue in QUEUES:
            family.add_metric([queue], counts[queue])
        yield family

    @staticmethod
    def _family() -> GaugeMetricFamily:
        return GaugeMetricFamily(
            "poseidon_queue_pods", "Pods that wait, by what they wait for.", labels=["queue"]
        )
