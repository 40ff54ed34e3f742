"""The figures of a run, and the table that people get."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from firmament.submit.report import SubmissionReport, print_table

REPORT = SubmissionReport(
    nodes=1_000,
    tasks=20_000,
    placed=19_000,
    unplaced=1_000,
    finished=7,
    rounds=12,
    seconds=2.5,
    placements_per_second=7600.4,
    latency_p50_ms=1.04,
    latency_p90_ms=20.06,
    latency_p99_ms=300.0,
    nodes_used=900,
    overcommitted=3,
    duplicates=0,
    complete=True,
    unplaced_reasons={},
)


def printed(report: SubmissionReport) -> list[str]:
    """Each line, without frames and with single blanks."""
    text = io.StringIO()
    print_table(report, Console(file=text, width=120))
    return [" ".join(line.replace("│", " ").split()) for line in text.getvalue().splitlines()]


def test_each_figure_has_a_line():
    lines = printed(REPORT)
    assert [line for line in lines if line and line[0].isalpha()] == [
        "machines 1,000",
        "tasks submitted 20,000",
        "tasks placed 19,000",
        "tasks unplaced 1,000",
        "tasks finished 7",
        "rounds 12",
        "seconds, first submission to last delta 2.500",
        "placements per second 7,600",
        "latency p50 / p90 / p99 1.0 / 20.1 / 300.0 ms",
        "machines used 900",
        "machines overcommitted 3",
    ]


def test_latencies_of_nobody_are_dashes():
    nobody = replace(REPORT, latency_p50_ms=None, latency_p90_ms=None, latency_p99_ms=None)
    assert "latency p50 / p90 / p99 - / - / - ms" in printed(nobody)


def test_the_five_most_frequent_reasons_come_after_the_table():
    reasons = {f"reason [{number}]": 1_000 * number for number in (3, 1, 6, 2, 5, 4)}
    lines = printed(replace(REPORT, unplaced_reasons=reasons))
    assert [line for line in lines if "unplaced:" in line] == [
        f"{number},000 unplaced: reason [{number}]" for number in (6, 5, 4, 3, 2)
    ]


@pytest.mark.parametrize("complete", [True, False])
def test_a_run_that_was_stopped_says_so(complete: bool):
    stopped = "Stopped at the time-out, before every task had an answer." in printed(
        replace(REPORT, complete=complete)
    )
    assert stopped is not complete
