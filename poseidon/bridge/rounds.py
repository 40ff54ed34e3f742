"""Keeps the solver's last rounds for people who ask."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from poseidon.lifecycle.placements import kind_of
from protos.firmament.v1 import scheduler_pb2 as pb

_ROUNDS = 64
_DELTAS = 500


class RoundHistory:
    """The last 64 rounds with up to 500 deltas each. ``wall`` tells seconds since the epoch."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self._rounds: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def add(self, result: pb.RoundResult) -> None:
        """Keep a round, and drop the oldest."""
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
