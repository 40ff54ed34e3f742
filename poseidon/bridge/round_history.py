"""Keeps the results of the solver's last rounds, for the bridge's debug pages."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from poseidon.lifecycle.placements import kind_of
from protos.firmament.v1 import scheduler_pb2 as pb

_ROUNDS = 64
_DELTAS = 500


class _Round(NamedTuple):
    """A round's result: when it arrived, how many deltas it had, and the message with the first of these deltas."""

    at: float
    deltas: int
    first: pb.RoundResult


class RoundHistory:
    """The results of the last 64 rounds, with up to 500 deltas each. ``wall`` returns seconds since the epoch."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._rounds: OrderedDict[str, _Round] = OrderedDict()

    def add(self, result: pb.RoundResult) -> None:
        """Keep the result of a round, and drop the oldest result if more than 64 are kept."""
        first = result
        if (
            len(result.deltas) > _DELTAS or result.unscheduled or result.queues
        ):  # The last two parts may be long, too.
            first = pb.RoundResult(round=result.round, stats=result.stats, deltas=result.deltas[:_DELTAS])
        self._rounds[str(result.round)] = _Round(self._wall(), len(result.deltas), first)
        if len(self._rounds) > _ROUNDS:
            self._rounds.popitem(last=False)

    def page(self, number: str) -> str:
        """Return the result of the round with this number as JSON, "" if it is not kept. Any thread may call this."""
        found = self._rounds.get(number)
        return json.dumps(_describe(found), indent=2, default=str) if found is not None else ""


def _describe(kept: _Round) -> dict[str, Any]:
    return {
        "round": kept.first.round,
        "at": kept.at,
        "stats": {field.name: value for field, value in kept.first.stats.ListFields()},
        "deltas": kept.deltas,
        "first": [
            {"kind": kind_of(each.kind), "pod": each.task, "node": each.machine} for each in kept.first.deltas
        ],
    }
