"""Takes in the readings of one source: faults counted and told, samples written in the book."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.metrics_sources.faults import FaultLog
from poseidon.metrics_sources.messages import machine_sample

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from poseidon.metrics_sources.faults import Fault
    from poseidon.metrics_sources.metrics import SourceMetrics
    from poseidon.metrics_sources.readings import NodeReading
    from poseidon.metrics_sources.samples import SampleBook
    from poseidon.metrics_sources.view import ClusterView


class Intake:
    """What a source hands its readings to. ``changed`` is called when there is something to tell the solver."""

    def __init__(
        self,
        source: str,
        book: SampleBook,
        view: ClusterView,
        *,
        metrics: SourceMetrics,
        changed: Callable[[], None],
    ) -> None:
        self._source = source
        self._book = book
        self._view = view
        self._faults = FaultLog(source, metrics)
        self._count = metrics.readings.labels(source)
        self._changed = changed

    @property
    def view(self) -> ClusterView:
        """The cluster as it is known at the moment."""
        return self._view

    def take(self, reading: NodeReading, faults: Sequence[Fault] = ()) -> None:
        """Take the latest reading of a node; ``faults`` are what was wrong with it."""
        self._faults.take(reading.node, faults)
        self._count.inc()
        self._book.put(self._source, machine_sample(reading, self._view.uid_of))
        self._changed()

    def report(self, name: str, faults: Sequence[Fault]) -> None:
        """Take what is wrong with something else than a node's reading, such as a pod's."""
        self._faults.take(name, faults)

    def gone(self, node: str) -> None:
        """The source says nothing of a node any more."""
        self._faults.forget(node)
        self._book.remove(self._source, node)
        self._changed()

    def forget_gone_nodes(self) -> None:
        """Drop readings of nodes that no longer exist.

        A node that exists and is not reported any more keeps its last reading, which grows old.
        """
        for node in self._book.nodes_of(self._source):
            if not self._view.knows_node(node):
                self.gone(node)
