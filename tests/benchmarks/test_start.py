"""A start is measured whole: all objects known, what waits bound, and all of it told to a second solver."""

from __future__ import annotations

from benchmarks.processes.start import StartOptions, run_start
from benchmarks.reports.report import render


def test_a_small_cluster():
    report = run_start(StartOptions(nodes=20, pods=100, classes=5, pending=20, timeout=60.0))
    assert list(report["phases"]) == ["start", "burst", "replay"]
    for phase in report["phases"].values():
        assert phase["seconds"] >= 0
        assert phase["usage"]["bridge"]["peakMiB"] > 0
    assert report["phases"]["start"]["objectsPerSecond"] > 0
    assert report["phases"]["replay"]["objectsPerSecond"] > 0
    text = render([{**report, "file": "start.json"}])
    assert "20 nodes, 100 pods of 5 classes:" in text
    assert "\n| replay: solver | - |" in text
