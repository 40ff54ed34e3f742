"""Recordings beside simulations, for people: rows, sentences and a page."""

from __future__ import annotations

from typing import Any

from poseidon.simulate.recorded.presentation import (
    describe_replayed_decisions,
    difference_rows,
    side_lines,
    side_page,
    side_rows,
)
from poseidon.simulate.recorded.replaying import Difference, ReplayedDecisions
from poseidon.simulate.recorded.what_if import SideBySide
from poseidon.simulate.report import Curves, SimulationReport, WaitingTimes


def waits(kind: str, waiting: int, p50: float | None, evictions: int = 0) -> WaitingTimes:
    return WaitingTimes(kind, 1000, 900, waiting, p50, 150.0, 300.0, 7200.0, evictions)


def report(*found: WaitingTimes, **parts: Any) -> SimulationReport:
    curves = Curves((0.0, 3600.0), {"cpu": (0.25, 0.5)}, (0.0, 0.0), (1, 2), (3, 4), (5, 5), (6, 7))
    given = {
        "horizon": 7200.0,
        "utilisation": {"cpu": 0.5, "memory": 0.25},
        "fragmentation": 0.125,
        "nodes": 1234.0,
        "empty": 2.25,
        "waits": found,
        "makespan": None,
        "rounds": 1,
        "uncertified": 0,
        "cost": 0,
        "preempted": 3,
        "displaced": 0,
        "curves": curves,
        "seconds": {},
    }
    return SimulationReport(**{**given, **parts})


WAS = report(waits("web", 2000, 45.0), waits("gone", 1, 1.0), waits("all", 5, None))
NOW = report(
    waits("web", 10, 90.0, 7),
    waits("new", 1, 1.0),
    waits("all", 6, 30.0),
    utilisation={"cpu": 0.75, "gpu": 0.1},
    rounds=2000,
    empty=1.0,
    preempted=4000,
    fragmentation=0.5,
)


def test_decisions_are_counted_and_differences_listed():
    found = ReplayedDecisions(
        2, 1, 3000, 4000, 3999, [Difference(1000, "a", "", "n1"), Difference(2, "b", "n1", "")], 2
    )
    assert describe_replayed_decisions(found) == [
        "4,000 decisions in 3,000 rounds of 2 streams; 3,999 made again.",
        "The beginning of 1 stream is not recorded any more: back-offs and reservations of that time are not known.",
        "The solver refused 2 messages, as it did then.",
    ]
    assert len(describe_replayed_decisions(ReplayedDecisions(1, 0, 1, 1, 1))) == 1
    assert difference_rows(found) == [("1,000", "a", "-", "n1"), ("2", "b", "n1", "-")]


def test_rows_are_of_the_kinds_on_both_sides():
    assert side_rows(SideBySide(WAS, NOW)) == [
        ("web", "1,000", "2,000", "10", "45s", "90s", "2m", "2m", "2h", "2h", "7"),
        ("all", "1,000", "5", "6", "-", "30s", "2m", "2m", "2h", "2h", "0"),
    ]


def test_sentences_say_what_is_and_what_was():
    assert side_lines(SideBySide(WAS, NOW)) == [
        "2h recorded on 1,234 nodes; 1.0 of them empty (was 2.2).",
        "In use: cpu 75.0% (was 50.0%), gpu 10.0% (was 0.0%).",
        "50.0% of the free CPU was on nodes that the mean task did not fit on (was 12.5%).",
        "2,000 rounds (was 1); 4,000 preempted (was 3).",
    ]
    bare = report(utilisation={})
    assert side_lines(SideBySide(bare, bare))[1] == "In use: nothing."


def test_a_page_has_both_curves_and_the_median_wait():
    page = side_page(SideBySide(WAS, NOW), "What if: x.yaml")
    assert "What if: x.yaml" in page
    assert "- → 30s" in page
    for heading in ("Waiting for the first node", "Tasks that wait", "CPU in use", "Empty nodes"):
        assert heading in page
    assert '"was":[25.0,50.0]' in page.replace(" ", "")
