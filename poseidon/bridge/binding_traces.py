"""Creates trace spans of bindings, as children of the span of the round that decided them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from poseidon.kube.write.binder import BindResult
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Tracer

    from poseidon.kube.write.binder import BindOutcome

MOST_OF_A_ROUND = 32
"""Only the first bindings of a round, at most this many, are traced: a span takes an eighth of a binding's time."""

_MOST_OPEN = 4096


class _Open(NamedTuple):
    parent: Context
    since_ns: int
    round: int


class BindingTraces:
    """A tracer that creates a span for each traced binding, from the arrival of its round to the end of the binding.

    ``wall_ns`` returns nanoseconds since the epoch.
    """

    def __init__(self, tracer: Tracer, wall_ns: Callable[[], int] = time.time_ns) -> None:
        self._tracer = tracer
        self._wall_ns = wall_ns
        self._open: dict[str, _Open] = {}

    def round_arrived(self, result: pb.RoundResult) -> None:
        """Begin to trace the first bindings that a round orders."""
        placed = [delta.task for delta in islice(_places(result), MOST_OF_A_ROUND)]
        if not placed:
            return
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        parent = TraceContextTextMapPropagator().extract({"traceparent": result.trace})
        now = self._wall_ns()
        for task in placed:
            self._open[task] = _Open(parent, now, result.round)
        while len(self._open) > _MOST_OPEN:  # Their pods were never bound; the oldest is removed first.
            del self._open[next(iter(self._open))]

    def binding_ended(self, outcome: BindOutcome) -> None:
        """Create the span of a binding that has ended, if it was traced."""
        request = outcome.request
        found = self._open.pop(request.uid, None)
        if found is None:
            return
        from opentelemetry.trace import Status, StatusCode

        span = self._tracer.start_span(
            "binding",
            found.parent,
            start_time=found.since_ns,
            attributes={
                "k8s.pod.name": request.name,
                "k8s.pod.uid": request.uid,
                "k8s.namespace.name": request.namespace,
                "k8s.node.name": request.node,
                "firmament.round": found.round,
                "poseidon.result": outcome.result.value,
            },
        )
        if outcome.result is not BindResult.BOUND:
            span.set_status(Status(StatusCode.ERROR, outcome.reason))
        span.end(self._wall_ns())


def _places(result: pb.RoundResult) -> Iterator[pb.Delta]:
    return (delta for delta in result.deltas if delta.kind == pb.Delta.PLACE)
