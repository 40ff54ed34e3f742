"""A span for each round and for each of its stages, told when the round has ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from firmament.core.results import RoundResult

_NANO = 1_000_000_000


class RoundTraces:
    """Makes spans. ``wall_ns`` tells nanoseconds since the epoch. Safe to call from any thread."""

    def __init__(self, tracer: Tracer, wall_ns: Callable[[], int] = time.time_ns) -> None:
        self._tracer = tracer
        self._wall_ns = wall_ns

    def round_done(self, cluster: str, result: RoundResult, seconds: float) -> str:
        """Make the spans of a round that has just ended and took ``seconds`` in all.

        Returns what a child of it names as its parent (W3C ``traceparent``). A round of several passes has been in a
        stage more than once: the spans of its stages tell how long in all, one after another.
        """
        from opentelemetry.trace import set_span_in_context

        ended = self._wall_ns()
        at = begun = ended - round(seconds * _NANO)
        stats = result.stats
        span = self._tracer.start_span(
            "round",
            start_time=begun,
            attributes={
                "firmament.cluster": cluster,
                "firmament.round": result.round,
                "firmament.machines": stats.machines,
                "firmament.tasks": stats.tasks,
                "firmament.classes": stats.classes,
                "firmament.placed": stats.placed,
                "firmament.pending": stats.pending,
                "firmament.arcs": stats.arcs,
                "firmament.certified": stats.certified,
                "firmament.gap": stats.gap,
            },
        )
        within = set_span_in_context(span)
        for stage in ("snapshot", "network", "solve", "admit"):
            child = self._tracer.start_span(stage, within, start_time=at)
            at = min(ended, at + round(getattr(stats, f"{stage}_seconds") * _NANO))
            child.end(at)
        span.end(ended)
        found = span.get_span_context()
        return f"00-{found.trace_id:032x}-{found.span_id:016x}-{found.trace_flags:02x}"
