"""Keeps the latest sample of every node, and the nodes whose samples the current stream has not sent to the solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from protos.firmament.v1 import scheduler_pb2 as pb

NODE_METRIC, METRICS_SERVER, PROMETHEUS = SOURCES = ("nodeMetric", "metricsServer", "prometheus")
"""The names of the sources, in order of precedence."""

MISSED_REPORTS = 3
"""After this many missed reports of a node, the next source counts instead of this one."""


class LatestSamples:
    """The latest samples by source and node; the use of pods is part of their nodes' samples.

    ``sources`` are in order of precedence: a node's sample comes from the first source whose sample is current. A
    sample is current unless another source has a sample that is later by more than ``MISSED_REPORTS`` reporting
    intervals. No clock is therefore needed, and a single source is always current. ``changed`` contains the nodes
    whose samples may have to be sent to the solver.
    """

    def __init__(self, sources: Sequence[str]) -> None:
        self._by_source: dict[str, dict[str, pb.MachineSample]] = {source: {} for source in sources}
        self.changed: dict[str, None] = {}
        self._sent: dict[str, float] = {}

    def __len__(self) -> int:
        """Return the number of nodes that have a sample; this may be called from another thread."""
        return len(set().union(*(list(samples) for samples in self._by_source.values())))

    def put(self, source: str, sample: pb.MachineSample) -> None:
        """Set the latest sample of a node from a source."""
        self._by_source[source][sample.machine] = sample
        self.changed[sample.machine] = None

    def remove(self, source: str, node: str) -> None:
        """Remove the sample of a node from a source."""
        if self._by_source[source].pop(node, None) is not None:
            self.changed[node] = None

    def nodes_of(self, source: str) -> set[str]:
        """Return the nodes for which a source has samples."""
        return set(self._by_source[source])

    def mark(self, node: str) -> None:
        """Send a node's sample again, because the machine has been added to the solver or removed from it."""
        self.changed[node] = None
        self._sent.pop(node, None)

    def forget_sent(self) -> None:
        """Begin a stream to a solver that has no samples, so that all samples are sent again."""
        self._sent.clear()
        self.changed = dict.fromkeys(node for samples in self._by_source.values() for node in samples)

    def sample(self, node: str) -> pb.MachineSample | None:
        """Return the sample of a node from the first source with a current sample, None if there is no sample."""
        chosen: pb.MachineSample | None = None
        for samples in self._by_source.values():
            found = samples.get(node)
            if found is not None and (chosen is None or _is_overruled(chosen, found)):
                chosen = found
        return chosen

    def take_events(self, is_known: Callable[[str], bool]) -> list[pb.Event]:
        """Return the events that update the solver's samples, each once.

        ``is_known``: returns whether the solver knows a machine.

        The solver ignores a sample that is older than the last sample it has received. If the sample that counts now
        is older, because a clock was corrected or another source counts now, the events first remove the sample sent
        last.
        """
        events: list[pb.Event] = []
        for node in self.changed:
            found = self.sample(node)
            known = is_known(node)
            sent = self._sent.pop(node, None)
            if sent is not None and known and (found is None or found.time < sent):
                events.append(pb.Event(machine_sample_removed=node))
            if found is not None and known:
                events.append(pb.Event(machine_sample=found))
                self._sent[node] = found.time
        self.changed.clear()
        return events


def _is_overruled(former: pb.MachineSample, later: pb.MachineSample) -> bool:
    """Return whether ``former`` is so much older than ``later`` that the preferred source must have stopped."""
    return later.time - former.time > MISSED_REPORTS * max(former.report_interval, later.report_interval)
