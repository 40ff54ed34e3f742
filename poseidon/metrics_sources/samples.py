"""The latest sample of every node, and which of them the current stream's solver has not been told."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from protos.firmament.v1 import scheduler_pb2 as pb

NODE_METRIC, METRICS_SERVER, PROMETHEUS = SOURCES = ("nodeMetric", "metricsServer", "prometheus")
"""Names of the sources, in order of precedence."""

MISSED_REPORTS = 3
"""A source that has missed so many reports of a node gives way to the next one."""


class SampleBook:
    """Samples by node and source. Nothing of a pod is kept but what the sample of its node says.

    ``sources`` are in order of precedence: a node's sample is that of the first source whose one is current, which it
    is unless another source's is later by more than ``MISSED_REPORTS`` of its own reporting intervals. No clock is
    needed for that, and a single source is never overruled. ``changed``: nodes that the solver may have to be told of.
    """

    def __init__(self, sources: Sequence[str]) -> None:
        self._by_source: dict[str, dict[str, pb.MachineSample]] = {source: {} for source in sources}
        self.changed: dict[str, None] = {}
        self._told: dict[str, float] = {}

    def __len__(self) -> int:
        """Return how many nodes have a sample. May be called from another thread."""
        return len(set().union(*(list(samples) for samples in self._by_source.values())))

    def put(self, source: str, sample: pb.MachineSample) -> None:
        """Take the latest sample that a source has of a node."""
        self._by_source[source][sample.machine] = sample
        self.changed[sample.machine] = None

    def remove(self, source: str, node: str) -> None:
        """Forget what a source said of a node."""
        if self._by_source[source].pop(node, None) is not None:
            self.changed[node] = None

    def nodes_of(self, source: str) -> set[str]:
        """Return the nodes that a source has said something of."""
        return set(self._by_source[source])

    def mark(self, node: str) -> None:
        """Tell of a node again: the solver has forgotten, or has not known, the machine."""
        self.changed[node] = None
        self._told.pop(node, None)

    def forget_told(self) -> None:
        """Forget what was sent, as a new stream begins: its solver knows no sample."""
        self._told.clear()
        self.changed = dict.fromkeys(node for samples in self._by_source.values() for node in samples)

    def sample(self, node: str) -> pb.MachineSample | None:
        """Return what counts of a node, None if nothing is known."""
        chosen: pb.MachineSample | None = None
        for samples in self._by_source.values():
            found = samples.get(node)
            if found is not None and (chosen is None or _is_overruled(chosen, found)):
                chosen = found
        return chosen

    def take_events(self, is_known: Callable[[str], bool]) -> list[pb.Event]:
        """Return what the solver has to be told of the machines that it knows, as ``is_known`` says; once.

        A solver ignores what is older than what it knows. So a sample that counts although it is older, because a
        clock was set right or another source takes over, follows the removal of the former one.
        """
        events: list[pb.Event] = []
        for node in self.changed:
            found = self.sample(node)
            known = is_known(node)
            told = self._told.pop(node, None)
            if told is not None and known and (found is None or found.time < told):
                events.append(pb.Event(machine_sample_removed=node))
            if found is not None and known:
                events.append(pb.Event(machine_sample=found))
                self._told[node] = found.time
        self.changed.clear()
        return events


def _is_overruled(former: pb.MachineSample, later: pb.MachineSample) -> bool:
    """Return whether ``former``, of the preferred source, is so old beside ``later`` that its source has
    evidently stopped.
    """
    return later.time - former.time > MISSED_REPORTS * max(former.report_interval, later.report_interval)
