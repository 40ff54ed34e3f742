"""Defines metrics of lists, watches and the comparisons with the API server."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class WatchMetrics:
    """The metrics that reflectors update, registered in ``registry``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter

        counter = partial(Counter, registry=registry)
        self.watch_events = counter(
            "poseidon_watch_events", "Objects received, by list or watch.", ["resource", "type"]
        )
        self.relists = counter(
            "poseidon_watch_relists", "Full lists begun, by cause.", ["resource", "reason"]
        )
        self.watch_errors = counter(
            "poseidon_watch_errors", "Failed lists and watches.", ["resource", "kind"]
        )
        self.reconciliations = counter(
            "poseidon_watch_reconciliations",
            "Comparisons of what is known with what the API server has.",
            ["resource", "result"],
        )
        self.drifted_objects = counter(
            "poseidon_watch_drifted_objects",
            "Objects that were known otherwise than the API server has them, and were listed anew.",
            ["resource"],
        )
        self.rejected_objects = counter(
            "poseidon_rejected_objects", "Objects that could not be decoded.", ["resource"]
        )
