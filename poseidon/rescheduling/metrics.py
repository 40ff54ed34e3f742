"""Prometheus metrics about plans of moves and about the moves themselves."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge

from poseidon.rescheduling.moves import MoveOutcome, Result
from poseidon.rescheduling.planning import PlannedMoves


class MoveMetrics:
    """Prometheus metrics of plans and moves, registered in ``registry``."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._plans = Counter("poseidon_move_plans", "Plans of moves that were made.", registry=self.registry)
        self._moves = Counter("poseidon_moves", "Moves by their results.", ["result"], registry=self.registry)
        self._saved = Counter(
            "poseidon_moves_saved_points",
            "Points that moves to their targets have saved.",
            registry=self.registry,
        )
        self._released = Gauge(
            "poseidon_released_pods", "Pods that may be moved, as of the last plan.", registry=self.registry
        )

    def note(self, planned: PlannedMoves, outcomes: Iterable[MoveOutcome]) -> None:
        """Count a plan and the outcomes of its moves."""
        self._plans.inc()
        self._released.set(planned.released)
        for outcome in outcomes:
            self._moves.labels(outcome.result.value).inc()
            if outcome.result is Result.MOVED:
                self._saved.inc(outcome.move.saves)
