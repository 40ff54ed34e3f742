"""The last rounds for questions, and the spans of rounds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from firmament.core.results import Delta, DeltaKind, RoundResult, RoundStats
from firmament.server.rounds.round_history import INTEREST_SECONDS, MOST_ROUNDS, SMALL, RoundHistory
from firmament.server.rounds.round_traces import trace_round


class Timer:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def result(number: int, *deltas: Delta, placed: int = 0) -> RoundResult:
    return RoundResult(number, deltas, stats=RoundStats(placed=placed))


def record(number: int, pairs: int = 1) -> Any:
    """A round with so many pairs of shape and machine."""
    problem = SimpleNamespace(machines=pairs, requests=np.zeros((1, 1)))
    return SimpleNamespace(result=result(number), snapshot=SimpleNamespace(problem=problem))


@pytest.fixture
def timer() -> Timer:
    return Timer()


@pytest.fixture
def history(timer: Timer) -> RoundHistory:
    return RoundHistory(lambda: 7.0, timer)


class TestHistory:
    def test_figures_are_kept_in_order(self, history: RoundHistory):
        for number in (1, 2, 3):
            history.add_figures(result(number))
        assert [each.round for each in history.list_after(0)] == [1, 2, 3]
        assert [each.round for each in history.list_after(2)] == [3]
        assert history.list_after(3) == []
        assert history.list_after(2)[0].ended == 7.0

    def test_only_the_last_ones_are_kept(self, history: RoundHistory):
        for number in range(MOST_ROUNDS + 1):
            history.add_figures(result(number))
        kept = [each.round for each in history.list_after(-1)]
        assert (kept[0], len(kept)) == (1, 200)

    def test_evictions_are_those_that_are_not_withdrawn(self, history: RoundHistory):
        place, evict = Delta(DeltaKind.PLACE, "t", "m"), Delta(DeltaKind.PREEMPT, "v", "m")
        withdrawn = evict._replace(withdrawn=True)
        assert history.add_figures(result(1, place, evict, withdrawn, evict, placed=1)).evictions == 2
        assert history.add_figures(result(2, place, placed=1)).evictions == 0

    @pytest.mark.parametrize(("pairs", "kept"), [(SMALL, True), (SMALL + 1, False)])
    def test_large_snapshots_are_kept_only_while_somebody_asks(
        self, history: RoundHistory, timer: Timer, pairs: int, kept: bool
    ):
        history.add(record(1, pairs))
        assert (history.last(0) is not None) is kept
        history.add(record(2, pairs))
        assert history.last(0) is not None, "somebody has asked"
        timer.now += INTEREST_SECONDS
        history.add(record(3, pairs))
        assert (history.last(0) is not None) is kept
        assert SMALL == 1_000_000

    @pytest.mark.parametrize(("later", "watched"), [(0.0, True), (59.9, True), (60.0, False)])
    def test_a_question_is_remembered_for_a_minute(
        self, history: RoundHistory, timer: Timer, later: float, watched: bool
    ):
        assert not history.is_watched()
        timer.now = 100.0
        assert history.last(0) is None
        timer.now += later
        assert history.is_watched() is watched

    def test_the_last_flow_is_told_to_those_who_do_not_know_it(self, history: RoundHistory):
        history.add(record(4))
        history.add_figures(result(5))
        found = history.last(3)
        assert found is not None
        assert (found[0].round, found[1].result.round) == (4, 4)
        assert history.last(4) is None
        history.clear()
        assert history.last(0) is None
        assert [each.round for each in history.list_after(0)] == [4, 5]


def test_a_round_and_its_stages_are_spans():
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    stats = RoundStats(
        machines=3, tasks=4, classes=2, placed=1, pending=3, arcs=9, gap=0.5,
        snapshot_seconds=1.0, network_seconds=2.0, solve_seconds=3.0, admit_seconds=99.0,
    )  # fmt: skip
    parent = trace_round(provider.get_tracer("t"), "c", RoundResult(7, stats=stats), 10.0)
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert [*spans] == ["snapshot", "network", "solve", "admit", "round"]
    whole = spans["round"]
    assert whole.start_time is not None
    assert whole.end_time is not None
    assert whole.end_time - whole.start_time == 10_000_000_000
    assert dict(whole.attributes or {}) == {
        "firmament.cluster": "c", "firmament.round": 7, "firmament.machines": 3, "firmament.tasks": 4,
        "firmament.classes": 2, "firmament.placed": 1, "firmament.pending": 3, "firmament.arcs": 9,
        "firmament.certified": True, "firmament.gap": 0.5,
    }  # fmt: skip
    begun = whole.start_time
    times = [
        ((span.start_time or 0) - begun, (span.end_time or 0) - begun)
        for name, span in spans.items()
        if name != "round"
    ]
    second = 1_000_000_000
    assert times == [(0, second), (second, 3 * second), (3 * second, 6 * second), (6 * second, 10 * second)]
    assert all(span.parent is not None for name, span in spans.items() if name != "round")
    context = whole.get_span_context()
    assert context is not None
    assert parent == f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
