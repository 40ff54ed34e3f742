"""Figures of the sources of measured use."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge


class SourceMetrics:
    """The metrics of all sources, registered in ``registry``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.readings = Counter(
            "poseidon_utilisation_readings", "Readings of nodes taken in.", ["source"], registry=registry
        )
        self.faults = Counter(
            "poseidon_utilisation_faults",
            "Parts of readings that made no sense, by kind.",
            ["source", "fault"],
            registry=registry,
        )
        self.polls = Counter(
            "poseidon_utilisation_polls",
            "Polls of a source, by outcome.",
            ["source", "result"],
            registry=registry,
        )
        self.nodes = Gauge(
            "poseidon_utilisation_nodes", "Nodes with a reading, from any source.", registry=registry
        )
