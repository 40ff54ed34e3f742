"""Cuts large rounds, so that their first bindings leave while their last placements are still being looked at."""

from __future__ import annotations

from collections.abc import Iterator

from protos.firmament.v1 import scheduler_pb2 as pb

PART_DELTAS = 250
"""A few milliseconds of work; with as many bindings in flight an API server is busy for longer."""


def parts_of(result: pb.RoundResult, most: int = PART_DELTAS) -> Iterator[pb.RoundResult]:
    """Yield a round in parts of at most ``most`` deltas, in order; the last part has everything else.

    A round with evictions is not cut: who makes way for whom is one decision.
    """
    deltas = result.deltas
    whole = len(deltas) <= most or any(delta.kind == pb.Delta.PREEMPT for delta in deltas)
    if whole:
        yield result
        return
    last = (len(deltas) - 1) // most * most
    for begin in range(0, last, most):
        yield pb.RoundResult(round=result.round, deltas=deltas[begin : begin + most])
    rest = pb.RoundResult()
    rest.CopyFrom(result)
    del rest.deltas[:last]
    yield rest
