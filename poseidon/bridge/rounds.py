"""The solver's rounds as they come: the last ones kept for people who ask, large ones taken in parts."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from protos.firmament.v1 import scheduler_pb2 as pb

_ROUNDS = 64
_DELTAS = 500
_KINDS = pb.Delta.Kind.DESCRIPTOR.values_by_number

PART_DELTAS = 250
"""A few milliseconds of work; with as many bindings in flight an API server is busy for longer."""


class RoundHistory:
    """The last 64 rounds with up to 500 deltas each. ``wall`` tells seconds since the epoch."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._rounds: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def add(self, result: pb.RoundResult) -> None:
        """Keep a round; the oldest goes."""
        self._rounds[str(result.round)] = {
            "round": result.round,
            "at": self._wall(),
            "stats": {field.name: value for field, value in result.stats.ListFields()},
            "deltas": len(result.deltas),
            "first": [
                {"kind": kind_of(each.kind), "pod": each.task, "node": each.machine}
                for each in result.deltas[:_DELTAS]
            ],
        }
        if len(self._rounds) > _ROUNDS:
            self._rounds.popitem(last=False)

    def page(self, number: str) -> str:
        """Return a round by its number as JSON, "" if it is not known; may be called from any thread."""
        found = self._rounds.get(number)
        return json.dumps(found, indent=2, default=str) if found is not None else ""


def kind_of(kind: int) -> str:
    """Return the name of a kind of deltas; a solver that is newer may send others."""
    found = _KINDS.get(kind)
    return found.name if found is not None else "UNKNOWN"


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
