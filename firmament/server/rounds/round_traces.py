"""Creates trace spans for a round and each of its stages, once the round has ended."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from firmament.core.results import RoundResult

_NANO = 1_000_000_000


_FIGURES = ("machines", "tasks", "classes", "placed", "pending", "arcs", "certified", "gap")


def trace_round(tracer: Tracer, cluster: str, result: RoundResult, seconds: float) -> str:
    """Create the spans of a round that has just ended and took ``seconds`` in all. Any thread may call this function.

    Return the W3C ``traceparent`` for child spans. A round of several passes goes through the stages more than once,
    so each stage has one span of its total time, one after another.
    """
    from opentelemetry.trace import set_span_in_context

    ended, stats = time.time_ns(), result.stats
    at = begun = ended - round(seconds * _NANO)
    figures = {"cluster": cluster, "round": result.round, **{name: getattr(stats, name) for name in _FIGURES}}
    attributes = {f"firmament.{name}": figure for name, figure in figures.items()}
    span = tracer.start_span("round", start_time=begun, attributes=attributes)
    within = set_span_in_context(span)
    for stage in ("snapshot", "network", "solve", "admit"):
        child = tracer.start_span(stage, within, start_time=at)
        at = min(ended, at + round(getattr(stats, f"{stage}_seconds") * _NANO))
        child.end(at)
    span.end(ended)
    found = span.get_span_context()
    return f"00-{found.trace_id:032x}-{found.span_id:016x}-{found.trace_flags:02x}"
