"""Computes figures of queues for Prometheus, under a limited number of queue names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from poseidon.queues.known_queues import KnownQueues
from poseidon.queues.model import UNLIMITED
from poseidon.queues.statuses import QueueStatuses, WorkloadCounts

if TYPE_CHECKING:
    from prometheus_client.metrics_core import GaugeMetricFamily

MOST_QUEUES = 500
"""Most queues that metrics name; all further queues are counted together."""

OTHERS = "(others)"
"""The name under which metrics count all further queues."""

REFRESH_SECONDS = 10.0
"""Seconds between two counts of the workloads of all queues."""

Place = tuple[str, str, str]
"""Queue, flavor and resource."""


class QueueFigures(NamedTuple):
    """Figures of all queues, by the name of the queue; amounts are in cores, bytes or pieces."""

    workloads: Mapping[str, WorkloadCounts] = {}
    """The numbers of workloads that wait, and of those that are admitted."""
    nominal: Mapping[Place, float] = {}
    """The queues' own quotas, except unlimited ones."""
    used: Mapping[Place, float] = {}
    """The amounts that are used."""
    borrowed: Mapping[Place, float] = {}
    """The part of the used amounts that is borrowed."""


class FigureKeeper:
    """The figures of queues, which may be read from any thread; ``clock`` is monotonic."""

    def __init__(
        self, known_queues: KnownQueues, statuses: QueueStatuses, clock: Callable[[], float]
    ) -> None:
        self._known_queues = known_queues
        self._statuses = statuses
        self._clock = clock
        self._refreshed = float("-inf")
        self.latest = QueueFigures()
        """The figures as last computed."""

    def refresh(self) -> None:
        """Compute the figures again if they are older than ``REFRESH_SECONDS``. Call this method about every second."""
        now = self._clock()
        if now < self._refreshed + REFRESH_SECONDS:
            return
        self._refreshed = now
        self.latest = self._look()

    def _look(self) -> QueueFigures:
        names = {
            name: name if index < MOST_QUEUES else OTHERS
            for index, name in enumerate(sorted(self._known_queues.quotas))
        }
        references = self._known_queues.list_references()
        workloads: dict[str, WorkloadCounts] = {}
        nominal: dict[Place, float] = {}
        used: dict[Place, float] = {}
        borrowed: dict[Place, float] = {}
        for name, quota in self._known_queues.quotas.items():
            shown = names[name]
            found, former = self._statuses.count_workloads(references.get(name, [])), workloads.get(shown)
            workloads[shown] = found if former is None else _add(found, former)
            for flavor, amounts in quota.nominal.items():
                for resource, amount in amounts.items():
                    if amount < UNLIMITED:
                        _count(nominal, (shown, flavor, resource), amount)
            state = self._statuses.states.get(name)
            for use in state.uses if state is not None else ():
                place = shown, use.flavor, use.resource
                _count(used, place, use.used)
                _count(borrowed, place, max(use.borrowed, 0))
        return QueueFigures(workloads, nominal, used, borrowed)


def _add(some: WorkloadCounts, others: WorkloadCounts) -> WorkloadCounts:
    return WorkloadCounts(some.pending + others.pending, some.admitted + others.admitted)


def _count(amounts: dict[Place, float], place: Place, amount: int) -> None:
    """Add an amount in the protocol's unit (cpu in thousandths of a core) to amounts in cores, bytes or pieces."""
    amounts[place] = amounts.get(place, 0.0) + (amount / 1000 if place[2] == "cpu" else amount)


class QueueCollector:
    """A collector for Prometheus; ``figures`` returns the latest figures and may be called from any thread."""

    def __init__(self, figures: Callable[[], QueueFigures]) -> None:
        self._figures = figures

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metrics without values."""
        yield from _make_families()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the metrics with the latest figures of all queues."""
        found, families = self._figures(), _make_families()
        pending, admitted = families[:2]
        for queue, counts in found.workloads.items():
            pending.add_metric([queue], counts.pending)
            admitted.add_metric([queue], counts.admitted)
        for family, amounts in zip(families[2:], found[1:], strict=True):
            for place, amount in amounts.items():
                family.add_metric(place, amount)
        yield from families


def _make_families() -> list[GaugeMetricFamily]:
    from prometheus_client.metrics_core import GaugeMetricFamily

    place = ("queue", "flavor", "resource")
    return [
        GaugeMetricFamily(f"poseidon_queue_{name}", text, labels=labels)
        for name, text, labels in (
            ("pending_workloads", "Pods and gangs of a queue that wait.", ("queue",)),
            ("admitted_workloads", "Pods and gangs of a queue that have places.", ("queue",)),
            ("nominal", "A queue's own quota of a resource: cores, bytes, or pieces.", place),
            ("usage", "The amount of a resource that a queue, and those below it, use.", place),
            ("borrowed", "The part of the usage that exceeds the queue's own quota.", place),
        )
    ]
