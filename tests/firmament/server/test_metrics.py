"""What the server counts: rounds by stage and outcome, searches by move, failures, refusals and remarks."""

from __future__ import annotations

import pytest

import firmament
from firmament.core.results import RoundResult, RoundStats
from firmament.core.search.driver import SearchFigures, Unsupported
from firmament.server.metrics import Metrics


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"firmament_{name}", labels)


STATS = RoundStats(
    tasks=9,
    placed=5,
    pending=4,
    arcs=70,
    certified=True,
    gap=0.25,
    cost=300,
    snapshot_seconds=1.0,
    network_seconds=2.0,
    solve_seconds=4.0,
    admit_seconds=8.0,
)
PROVED = RoundResult(
    1,
    stats=STATS,
    put_off=6,
    notes=("odd", "odder"),
    searches=(
        SearchFigures("exchange", 10, 3, {Unsupported.LEDGERS: 2}),
        SearchFigures("spread", 1, 0, {Unsupported.LEDGERS: 7, Unsupported.SIZE: 1}),
    ),
)


def test_a_round_is_counted_by_what_came_of_it():
    metrics = Metrics()
    metrics.round_done(PROVED, 16.0)
    stages = ("snapshot", "network", "solve", "admit", "total")
    assert [value(metrics, "round_duration_seconds_sum", stage=each) for each in stages] == [1, 2, 4, 8, 16]
    assert value(metrics, "round_tasks_total", outcome="placed") == 5
    assert value(metrics, "round_tasks_total", outcome="pending") == 4
    assert value(metrics, "rounds_total", certified="true") == 1
    assert value(metrics, "rounds_total", certified="false") == 0
    assert value(metrics, "round_gap_ratio") == 0.25
    assert value(metrics, "round_cost_points") == 300
    assert value(metrics, "network_arcs") == 70
    assert value(metrics, "put_off_tasks") == 6
    assert value(metrics, "model_remarks_total") == 2


def test_searches_are_counted_by_move():
    metrics = Metrics()
    metrics.round_done(PROVED, 1.0)
    metrics.round_done(PROVED, 1.0)
    found = {
        (move, outcome): value(metrics, "search_changes_total", move=move, outcome=outcome)
        for move in ("exchange", "spread")
        for outcome in ("kept", "dropped")
    }
    assert found == {
        ("exchange", "kept"): 6,
        ("exchange", "dropped"): 14,
        ("spread", "kept"): 0,
        ("spread", "dropped"): 2,
    }
    reasons = [("exchange", "ledgers"), ("spread", "ledgers"), ("spread", "size")]
    assert [
        value(metrics, "search_unsupported_tasks_total", move=move, reason=reason) for move, reason in reasons
    ] == [4, 14, 2]


def test_figures_of_a_round_without_tasks_do_not_replace_those_before():
    metrics = Metrics()
    metrics.round_done(PROVED, 1.0)
    metrics.round_done(RoundResult(2, stats=RoundStats(certified=False)), 1.0)
    assert value(metrics, "rounds_total", certified="false") == 0
    assert (value(metrics, "round_gap_ratio"), value(metrics, "round_cost_points")) == (0.25, 300)
    assert (value(metrics, "network_arcs"), value(metrics, "put_off_tasks")) == (0, 0)
    metrics.round_done(RoundResult(3, stats=RoundStats(tasks=1, certified=False, gap=0.5)), 1.0)
    assert value(metrics, "rounds_total", certified="false") == 1
    assert (value(metrics, "round_gap_ratio"), value(metrics, "round_cost_points")) == (0.5, 0)


@pytest.mark.parametrize("classes", [0, 3])
def test_failures_and_what_is_set_aside_over_them(classes: int):
    metrics = Metrics()
    metrics.round_failed(classes)
    metrics.round_failed()
    assert value(metrics, "round_failures_total") == 2
    assert value(metrics, "classes_set_aside_total") == classes


def test_what_others_count():
    metrics = Metrics()
    metrics.count_refused("sessions")
    metrics.count_refused("sessions")
    metrics.count_refused("silent")
    metrics.solver_restarts.inc()
    metrics.sessions.set(3)
    assert value(metrics, "refusals_total", reason="sessions") == 2
    assert value(metrics, "refusals_total", reason="silent") == 1
    assert (value(metrics, "solver_restarts_total"), value(metrics, "sessions")) == (1, 3)
    assert value(metrics, "build_info", version=firmament.__version__) == 1
