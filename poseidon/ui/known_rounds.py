"""Keeps what is known about rounds: summaries of the last 200, and the 20 flows that were read last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from poseidon.live.figures import STAGES

if TYPE_CHECKING:
    from poseidon.ui.work.saved import Stats
    from protos.firmament.v1 import scheduler_pb2 as pb

MOST_ROUNDS, MOST_FLOWS = 200, 20
_COUNTS = ("machines", "tasks", "classes", "arcs", "placed", "pending")


class KnownRounds:
    """Summaries and flows of rounds, by the round's number."""

    def __init__(self) -> None:
        self._summaries: OrderedDict[int, dict[str, Any]] = OrderedDict()
        self._flows: OrderedDict[int, pb.RoundFlow] = OrderedDict()
        self.offered: list[int] = []
        """Numbers of other rounds whose flows can be computed on demand."""

    @property
    def latest(self) -> int:
        """The number of the newest known round, 0 if no round is known."""
        return next(reversed(self._summaries), 0)

    @property
    def latest_flow(self) -> int:
        """The number of the newest round whose flow is known, 0 if no flow is known."""
        return max(self._flows, default=0)

    def get_end(self, number: int) -> float:
        """Return when a round ended, in seconds since the epoch; 0 for an unknown round."""
        found = self._summaries.get(number)
        return 0.0 if found is None else float(found["ended"])

    def summaries(self) -> list[dict[str, Any]]:
        """Return all summaries, the newest last."""
        return list(self._summaries.values())

    def add(self, found: Iterable[pb.RoundSummary]) -> bool:
        """Add summaries of new rounds, ordered by their numbers; return whether any round was new."""
        before = self.latest
        for each in found:
            if self._summaries and each.round <= self.latest:
                continue
            self._summaries[each.round] = summary(each.round, each.ended, each.stats, each.evictions)
        while len(self._summaries) > MOST_ROUNDS:
            self._summaries.popitem(last=False)
        return self.latest != before

    def put_summaries(self, found: Mapping[int, dict[str, Any]]) -> None:
        """Add summaries, given by the number of the round, in ascending order."""
        self._summaries.update(found)

    def clear(self) -> None:
        """Forget all rounds, because another solver numbers its rounds from the beginning."""
        self._summaries.clear()
        self._flows.clear()

    def put_flow(self, flow: pb.RoundFlow) -> None:
        """Keep the flow of a round."""
        self._flows[flow.round] = flow
        self._flows.move_to_end(flow.round)
        while len(self._flows) > MOST_FLOWS:
            self._flows.popitem(last=False)

    def flow(self, number: int) -> pb.RoundFlow | None:
        """Return the flow of a round (0: the newest), or None if it is unknown."""
        return self._flows.get(number or self.latest_flow)

    def list_rounds(self) -> list[int]:
        """Return the numbers of the rounds whose flows can be shown."""
        return sorted({*self._flows, *self.offered})


def summary(number: int, ended: float, stats: pb.RoundStats | Stats, evictions: int) -> dict[str, Any]:
    """Return the summary of a round as the JSON object that the documents describe."""
    return {
        "round": number,
        "ended": ended,
        "seconds": {stage: round(getattr(stats, f"{stage}_seconds"), 6) for stage in STAGES},
        **{name: getattr(stats, name) for name in _COUNTS},
        "evictions": evictions,
        "certified": stats.certified,
        "gap": round(stats.gap, 9),
        "cost": stats.cost,
    }
