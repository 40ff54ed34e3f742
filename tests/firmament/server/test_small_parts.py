"""Parts of the server that stand alone: steps, spans, lines and options."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from firmament.core.results import DecidedOn, RoundResult, RoundStats
from firmament.server.driving.round_log import log_round
from firmament.server.rounds.round_traces import trace_round
from firmament.server.steps import RoundBeginning, StreamSteps

# --- rounds ----------------------------------------------------------------------------------------------------------

STATS = RoundStats(
    machines=1, tasks=2, classes=3, placed=4, pending=5, arcs=6, solves=7, certified=True, gap=0.5
)


def test_steps_are_counted_within_a_recorded_stream():
    times = iter([10.0, 11.0])
    steps = StreamSteps(lambda: next(times))
    steps.count_step()
    assert steps.begin_round() is None
    steps.restart(recorded=True)
    steps.count_step()
    steps.count_step()
    begun = steps.begin_round()
    assert begun == RoundBeginning(2, 10.0)
    steps.count_step()
    result = RoundResult(1)
    assert steps.end_round(result, begun, direct=True).decided == DecidedOn(2, 3, 10.0, 11.0, True)
    assert steps.end_round(result, None, direct=True) is result
    steps.restart(recorded=False)
    assert steps.begin_round() is None


def test_a_round_takes_a_line_and_each_note_a_warning(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, "firmament.server.driving.round_log"):
        log_round("c", RoundResult(9, stats=STATS, notes=("odd", "odder")), 1.25)
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        ("WARNING", 'model note cluster=c note="odd"'),
        ("WARNING", 'model note cluster=c note="odder"'),
        (
            "INFO",
            (
                "round cluster=c round=9 machines=1 tasks=2 classes=3 placed=4 pending=5 arcs=6 solves=7 "
                "certified=true gap=0.500000 seconds=1.2500"
            ),
        ),
    ]


class Span:
    """A span that notes when it was."""

    def __init__(self, spans: list[Span], name: str, start: int, attributes: dict[str, Any]) -> None:
        self.name, self.start, self.attributes, self.ended = name, start, attributes, -1
        spans.append(self)

    def end(self, at: int) -> None:
        self.ended = at

    def get_span_context(self) -> Any:
        from opentelemetry.trace import SpanContext, TraceFlags

        return SpanContext(0xAB, 0xC, False, TraceFlags(1))


class Tracer:
    """Starts such spans."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def start_span(self, name: str, _context: Any = None, *, start_time: int, attributes: Any = None) -> Span:
        return Span(self.spans, name, start_time, attributes or {})


def test_stages_follow_each_other_within_a_round(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("firmament.server.rounds.round_traces.time.time_ns", lambda: 10_000_000_000)
    stats = RoundStats(
        machines=1,
        tasks=2,
        classes=3,
        placed=4,
        pending=5,
        arcs=6,
        certified=True,
        gap=0.5,
        snapshot_seconds=0.5,
        network_seconds=0.25,
        solve_seconds=1.0,
        admit_seconds=9.0,
    )
    tracer = Tracer()
    parent = trace_round(tracer, "c", RoundResult(9, stats=stats), 2.0)  # type: ignore[arg-type]
    assert parent == f"00-{'ab'.zfill(32)}-{'c'.zfill(16)}-01"
    second = 1_000_000_000
    assert [(each.name, each.start / second, each.ended / second) for each in tracer.spans] == [
        ("round", 8.0, 10.0),
        ("snapshot", 8.0, 8.5),
        ("network", 8.5, 8.75),
        ("solve", 8.75, 9.75),
        ("admit", 9.75, 10.0),
    ]
    assert tracer.spans[0].attributes == {
        "firmament.cluster": "c",
        "firmament.round": 9,
        "firmament.machines": 1,
        "firmament.tasks": 2,
        "firmament.classes": 3,
        "firmament.placed": 4,
        "firmament.pending": 5,
        "firmament.arcs": 6,
        "firmament.certified": True,
        "firmament.gap": 0.5,
    }
