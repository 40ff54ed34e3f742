"""A simulation's report as rows, sentences, a page and columns."""

from __future__ import annotations

from typing import Any

import polars as pl

from poseidon.simulate.presentation import HEADINGS, simulation_page, summary_lines, wait_rows, write_curves
from poseidon.simulate.report import Curves, SimulationReport, WaitingTimes

WAITS = (
    WaitingTimes("web", 12345, 1000, 2, 1.0, 150.0, 7200.0, 7201.0, 9),
    WaitingTimes("all", 1, 0, 1, None, None, None, None, 0),
)


def report(**parts: Any) -> SimulationReport:
    curves = Curves((0.0, 3600.0), {"cpu": (0.25, 0.5)}, (0.0, 0.125), (1, 2), (3, 4), (5, 6), (7, 8))
    given = {
        "horizon": 7200.0,
        "utilisation": {"cpu": 0.5, "memory": 0.25},
        "fragmentation": 0.125,
        "nodes": 1234.0,
        "empty": 2.0,
        "waits": WAITS,
        "makespan": None,
        "rounds": 1,
        "uncertified": 2000,
        "cost": 0,
        "preempted": 3000,
        "displaced": 4,
        "curves": curves,
        "seconds": {"processor": 12.34, "roundP50": 0.002, "roundP99": 0.5},
    }
    return SimulationReport(**{**given, **parts})


def test_waits_are_rows_under_the_headings():
    rows = wait_rows(WAITS)
    assert rows == [
        ("web", "12,345", "1,000", "2", "1s", "2m", "2h", "2h", "9"),
        ("all", "1", "0", "1", "-", "-", "-", "-", "0"),
    ]
    assert {len(row) for row in rows} == {len(HEADINGS)}


def test_a_report_is_five_sentences():
    assert summary_lines(report()) == [
        "2h simulated on 1,234 nodes, 2 of them empty.",
        "In use: cpu 50.0%, memory 25.0%.",
        "12.5% of the free CPU was on nodes that the mean task did not fit on.",
        "1 round, 2,000 without a certificate; 3,000 preempted, 4 displaced by failures and drains.",
        "It took 12.3 s of processor time; a round 2 ms (median), 500 ms (p99).",
    ]
    ended = summary_lines(report(makespan=5400.0, utilisation={}))
    assert ended[0].endswith(" All work was done after 90m.")
    assert ended[1] == "In use: nothing."


def test_a_page_has_figures_and_charts():
    page = simulation_page(report(), "Simulation of x.yaml")
    for text in ("Simulation of x.yaml", "50.0%", "3,004", "median wait", "In use, by resource", "Nodes"):
        assert text in page
    compact = page.replace(" ", "")
    assert '"cpu":[25.0,50.0]' in compact
    assert '"fragmented":[0.0,12.5]' in compact
    assert '"running":[1.0,2.0]' in compact
    assert '"at":[0.0,1.0]' in compact
    bare = simulation_page(report(waits=(), utilisation={}), "x")
    assert "0.0%" in bare


def test_curves_are_columns(tmp_path):
    write_curves(report(), tmp_path / "curves.parquet")
    found = pl.read_parquet(tmp_path / "curves.parquet")
    assert found.to_dict(as_series=False) == {
        "seconds": [0.0, 3600.0],
        "running": [1, 2],
        "waiting": [3, 4],
        "nodes": [5, 6],
        "empty": [7, 8],
        "fragmentation": [0.0, 0.125],
        "used_cpu": [0.25, 0.5],
    }
