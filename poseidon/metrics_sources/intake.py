"""Receives the readings of one source: writes their samples, counts faults, and logs each fault once per object."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from poseidon.kube.parsing.defects import LONGEST_FIELD, LONGEST_PROBLEM, shorten
from poseidon.metrics_sources.readings import NodeReading, machine_sample
from poseidon.metrics_sources.samples import LatestSamples

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

_log = logging.getLogger(__name__)
_MOST_OBJECTS = 100_000


class SourceMetrics:
    """The metrics of all sources, registered in ``registry``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter, Gauge

        counter = partial(Counter, registry=registry)
        self.readings = counter("poseidon_utilisation_readings", "Readings of nodes taken in.", ["source"])
        self.faults = counter(
            "poseidon_utilisation_faults",
            "Parts of readings that made no sense, by kind.",
            ["source", "fault"],
        )
        self.polls = counter(
            "poseidon_utilisation_polls",
            "Polls of a source, by outcome.",
            ["source", "result"],
        )
        self.nodes = Gauge(
            "poseidon_utilisation_nodes", "Nodes with a reading, from any source.", registry=registry
        )


class ClusterView(Protocol):
    """The methods that return which nodes and pods the bridge knows now."""

    def knows_node(self, name: str) -> bool:
        """Return whether a node with this name exists."""
        ...

    def node_of(self, namespace: str, name: str) -> str:
        """Return the node of a pod that runs or is being bound, "" for another pod."""
        ...

    def uid_of(self, namespace: str, name: str, node: str) -> str:
        """Return the uid of the pod with this name if it is on ``node``, else ""."""
        ...


class Fault(NamedTuple):
    """A fault in a reading; ``kind`` is the value of the metric's label, ``problem`` says what is wrong."""

    kind: str
    field: str
    problem: str

    def __str__(self) -> str:
        return f"{shorten(self.field, LONGEST_FIELD)}: {shorten(self.problem, LONGEST_PROBLEM)}"


class Intake:
    """The receiver of one source's readings.

    ``view`` returns which nodes and pods the bridge knows now. ``changed`` is called when a sample in ``samples`` has
    changed. Faults are counted. Each kind of fault of an object is logged once, until the object has no fault any more.
    """

    def __init__(
        self,
        source: str,
        samples: LatestSamples,
        view: ClusterView,
        *,
        metrics: SourceMetrics,
        changed: Callable[[], None],
    ) -> None:
        self._source = source
        self._samples = samples
        self.view = view
        self._metrics = metrics
        self._reported: dict[str, frozenset[tuple[str, str]]] = {}
        self._count = metrics.readings.labels(source)
        self._changed = changed

    def add_reading(self, reading: NodeReading, faults: Sequence[Fault] = ()) -> None:
        """Add the latest reading of a node, and report the reading's ``faults``."""
        self.report(reading.node, faults)
        self._count.inc()
        self._samples.put(self._source, machine_sample(reading, self.view.uid_of))
        self._changed()

    def report(self, name: str, faults: Sequence[Fault]) -> None:
        """Count and log the faults of an object's latest reading; an empty list ends the object's former faults."""
        if not faults:
            self._reported.pop(name, None)
            return
        for fault in faults:
            self._metrics.faults.labels(self._source, fault.kind).inc()
        reported = self._reported.get(name, frozenset())
        new = [fault for fault in faults if (fault.kind, fault.field) not in reported]
        if not new or (not reported and len(self._reported) >= _MOST_OBJECTS):
            return
        self._reported[name] = reported | {(fault.kind, fault.field) for fault in new}
        _log.warning(
            'a reading has a fault source=%s object=%s fault="%s" further=%d',
            self._source,
            name,
            new[0],
            len(new) - 1,
        )

    def forget_node(self, node: str) -> None:
        """Remove the reading of a node that the source no longer reports."""
        self._reported.pop(node, None)
        self._samples.remove(self._source, node)
        self._changed()

    def forget_gone_nodes(self) -> None:
        """Remove the readings of nodes that no longer exist.

        An existing node that is no longer reported keeps its last reading, with the time of that reading.
        """
        for node in self._samples.nodes_of(self._source):
            if not self.view.knows_node(node):
                self.forget_node(node)
