"""Metrics of plans and moves."""

from __future__ import annotations

from poseidon.rescheduling.metrics import MoveMetrics
from poseidon.rescheduling.moves import MoveOutcome, PlannedMove, Result, Waves
from poseidon.rescheduling.planning import PlannedMoves


def outcome(result: Result, saves: float) -> MoveOutcome:
    move = PlannedMove("ns/p", "a", "b", "why", saves, ("ns", "ReplicaSet", "r"), {})
    return MoveOutcome(move, result)


def test_plans_and_moves_are_counted_and_only_moves_to_their_targets_save():
    metrics = MoveMetrics()

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(f"poseidon_{name}", labels)

    planned = PlannedMoves(Waves((), ()), (), (), 7, (), ())
    metrics.note(
        planned, [outcome(Result.MOVED, 5.0), outcome(Result.MOVED, 2.5), outcome(Result.ELSEWHERE, 9.0)]
    )
    metrics.note(planned, [])
    assert value("move_plans_total") == 2
    assert value("released_pods") == 7
    assert value("moves_total", result="moved") == 2
    assert value("moves_total", result="elsewhere") == 1
    assert value("moves_saved_points_total") == 7.5
